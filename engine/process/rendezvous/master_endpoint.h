// The endpoint of rank 0 for launches without MPI: the launcher names it, or rank 0 publishes it in
// the store of torchrun's agent. Also the interfaces on which ranks listen.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <spire/launch.h>

#include "engine/process/socket.h"

namespace spire::inline process {

struct Interface {
  std::string address;                  // as Listener takes it
  std::vector<std::string> advertised;  // other ranks try them in turn
};

Interface loopback_interface();
Interface all_interfaces();

// Returns the interface of the name under which others look for rank 0; all interfaces if the name
// is not this machine's, or is the host's own and leads to loopback.
Interface interface_named(const std::string& name);

Interface interface_of(const Socket& connection);  // of this machine's end

bool names_this_machine(const std::string& name);  // "localhost", or is_loopback()

// Returns a text that two processes share if they share one loopback; "" if it is not known.
std::string loopback_identity();

struct MasterEndpoint {
  std::vector<std::string> addresses;  // to try in turn
  int port = 0;
  std::string secret;  // of the run
};

// Convert to and from one line of JSON; nullopt for anything else, or without an IPv4 address.
std::string to_json(const MasterEndpoint& endpoint);
std::optional<MasterEndpoint> read_endpoint(const std::string& json);

struct MasterListener {
  Interface interface;
  Listener listener;
  std::string secret;
};
// Listens as rank 0; publishes address and secret in the store if there is one.
MasterListener listen_as_master(const Launch& launch, Deadline deadline);

// Returns rank 0's endpoint; that of a former attempt until the new rank 0 has come, so ask again
// after a failure. Throws Error(collective) if there is none yet.
MasterEndpoint find_master(const Launch& launch, Deadline deadline);

// For messages: "10.9.0.1:29500", or "torchrun's store at 10.9.0.1:29500"; "10.9.0.1:4711, ...".
std::string master_name(const Launch& launch);
std::string endpoints_text(const std::vector<std::string>& addresses, int port);

// A client of the key-value store of torchrun's agent (PyTorch's TCPStore, 2.1 and later). The
// store has no passwords: every process that reaches it can read and write all of it.
class TorchStore {
 public:
  // All throw Error(collective) if the store is gone, or not a TCPStore.
  TorchStore(const std::string& address, int port, Deadline deadline);  // with retries
  void set(const std::string& key, const std::string& value, Deadline deadline);
  // Returns nullopt if the key has not been set.
  std::optional<std::string> get(const std::string& key, Deadline deadline);

  const Socket& connection() const { return socket_; }

 private:
  void send(char query, const std::string& arguments, Deadline deadline);

  Socket socket_;
};

}  // namespace spire::inline process
