// Connections between two ranks that know each other's PeerInfo.
#pragma once
#include <vector>

#include "engine/process/rendezvous/acceptor.h"
#include "engine/process/rendezvous/peer_info.h"

namespace spire::inline process {

// An end of waiting, and how to speak of it.
struct Patience {
  explicit Patience(double limit);
  double seconds;
  Deadline end;
};
std::chrono::steady_clock::duration seconds_of(double seconds);

// Tries the addresses of `target` until one leads to it, and each has proved to the other that it
// knows the secret. Throws Error(collective) naming both ranks and the addresses.
Socket connect_to_rank(const PeerInfo& self, const PeerInfo& target, const std::string& secret,
                       Patience patience);

// Waits for connect_to_rank() of all ranks from `first` on; by rank, those below `first` empty.
// Throws Error(collective) naming the ranks that did not come.
std::vector<Socket> accept_ranks(Acceptor& reception, const std::vector<PeerInfo>& table, int first,
                                 Patience patience);

// "ranks 2, 3 of 4 did not connect to WHERE within 300 s: ...", those whose place in `come` is
// false.
std::string not_come(const std::vector<bool>& come, const std::string& where, double seconds,
                     const Acceptor& reception);

}  // namespace spire::inline process
