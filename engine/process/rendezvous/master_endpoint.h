// The endpoint of rank 0 for launches without MPI: the launcher names it, or rank 0 publishes it in
// the store of torchrun's agent. Also the interfaces on which ranks listen.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <spire/world.h>

#include "engine/process/socket.h"

namespace spire {

struct Interface {
  std::string address;                  // on which to listen, as Listener takes it
  std::vector<std::string> advertised;  // addresses that other ranks try in turn
};

Interface loopback_interface();
Interface all_interfaces();

// Returns the interface on which rank 0 must listen so that others find it under `name`: the one
// with that address; all interfaces if the address is unknown or not this machine's, or if a host
// name resolves to loopback here (on other machines it may not).
Interface interface_named(const std::string& name);

Interface interface_of(const Socket& connection);  // of its own end; all if that is loopback

bool names_this_machine(const std::string& name);  // true for "localhost" and if is_loopback()

// Returns a text that is equal in processes that share a loopback interface; "" if unknown.
std::string loopback_identity();

struct MasterEndpoint {
  std::vector<std::string> addresses;  // for other ranks to try in turn
  int port = 0;
  std::string secret;  // the run's secret
};

// Convert to and from one line of JSON; nullopt for other texts, and unless all addresses are IPv4.
std::string to_json(const MasterEndpoint& endpoint);
std::optional<MasterEndpoint> read_endpoint(const std::string& json);

struct MasterListener {
  Interface interface;
  Listener listener;
  std::string secret;
};
// Listens as rank 0. If there is a store, publishes the address there, and a new secret if the
// launch has none. Throws Error(device) as Listener, Error(collective) as TorchStore.
MasterListener listen_as_master(const Launch& launch, Deadline deadline);

// Returns rank 0's endpoint. In a restarted run it is that of the former attempt until the new rank
// 0 listens, so ask again if connecting fails. Throws Error(collective) if there is none yet.
MasterEndpoint find_master(const Launch& launch, Deadline deadline);

// Texts for messages. master_name(): "10.9.0.1:29500" or "torchrun's store at 10.9.0.1:29500";
// endpoints_text(): "10.9.0.1:4711, ...".
std::string master_name(const Launch& launch);
std::string endpoints_text(const std::vector<std::string>& addresses, int port);

// A client of the key-value store of torchrun's agent (PyTorch's TCPStore, 2.1 and later). The
// store has no passwords: every process that reaches it can read and write all of it.
class TorchStore {
 public:
  // All throw Error(collective) if the store is gone, or not a TCPStore.
  TorchStore(const std::string& address, int port, Deadline deadline);  // connects, with retries
  void set(const std::string& key, const std::string& value, Deadline deadline);
  // Returns nullopt if the key has not been set.
  std::optional<std::string> get(const std::string& key, Deadline deadline);

  const Socket& connection() const { return socket_; }

 private:
  void send(char query, const std::string& arguments, Deadline deadline);

  Socket socket_;
};

}  // namespace spire
