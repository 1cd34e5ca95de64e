// On which of this machine's addresses a rank listens for the others: no more of them than these
// need.
#pragma once
#include <string>
#include <vector>

#include "engine/process/socket.h"

namespace spire::inline process {

struct Interface {
  std::string address;            // to listen on, as Listener takes it
  std::vector<std::string> told;  // to the other ranks, who try them in turn
};

Interface loopback_interface();
Interface all_interfaces();

// Rank 0's, of the name or address under which the others look for it. One that is not this
// machine's (a service, a translated address) says nothing of interfaces: then it is all of them.
// So it is where a host's own name leads to loopback, as Debian writes it in /etc/hosts.
Interface interface_named(const std::string& name);

// The one by which this machine reached the place where all meet.
Interface interface_of(const Socket& connection);

// Whether a name can mean nothing but this machine: "localhost", or an address that is_loopback().
bool names_this_machine(const std::string& name);

// The same text for two processes exactly when they share one loopback: kernel and network
// namespace; empty where the system does not tell.
std::string loopback_identity();

}  // namespace spire::inline process
