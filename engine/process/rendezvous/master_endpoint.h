// The endpoint of rank 0 for launches without MPI: the launcher names it, or rank 0 publishes it in
// torchrun's store. And the interfaces on which ranks listen.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <spire/launch.h>

#include "engine/process/socket.h"

namespace spire::inline process {

// The address on which a rank listens, and those under which others may reach it: no more of this
// machine's interfaces than they need.
struct Interface {
  std::string address;                  // as Listener takes it
  std::vector<std::string> advertised;  // other ranks try them in turn
};

Interface loopback_interface();
Interface all_interfaces();

// Returns the interface of the name under which others look for rank 0. All interfaces if the name
// is not this machine's (a service, a translated address), or if the host's own name leads to
// loopback, as Debian writes it in /etc/hosts.
Interface interface_named(const std::string& name);

// Returns the interface of this machine's end of a connection.
Interface interface_of(const Socket& connection);

// Tells whether a name can mean only this machine: "localhost", or is_loopback().
bool names_this_machine(const std::string& name);

// Returns a text that is equal for two processes exactly if they share one loopback, that is kernel
// and network namespace; "" if the system does not tell.
std::string loopback_identity();

struct MasterEndpoint {
  std::vector<std::string> addresses;  // to try in turn
  int port = 0;
  std::string secret;  // of the run
};

// JSON in one line, the entry in the store; nullopt for anything else, or without an IPv4 address.
std::string to_json(const MasterEndpoint& endpoint);
std::optional<MasterEndpoint> read_endpoint(const std::string& json);

struct MasterListener {
  Interface interface;
  Listener listener;
  std::string secret;
};
// Listens as rank 0, and publishes address and secret in the store if there is one.
MasterListener listen_as_master(const Launch& launch, Deadline deadline);

// Returns rank 0's endpoint. Until rank 0 has come, an entry in a store may be that of a former
// attempt: ask again after a failure. Throws Error(collective) if there is none yet.
MasterEndpoint find_master(const Launch& launch, Deadline deadline);

// Returns "10.9.0.1:29500", or "torchrun's store at 10.9.0.1:29500", for messages.
std::string master_name(const Launch& launch);

}  // namespace spire::inline process
