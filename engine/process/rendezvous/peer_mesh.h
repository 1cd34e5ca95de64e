// A full mesh of connections between the ranks of a run, which know each other's PeerInfo.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spire/world.h>

#include "engine/process/rendezvous/acceptor.h"

namespace spire::inline process {

// A rank and where it listens.
struct PeerInfo {
  RankInfo info;
  int size = 1;                        // ranks of the run, as this process knows it
  int port = 0;                        // on which it listens for other ranks
  std::vector<std::string> addresses;  // to try in turn
  uint64_t run = 0;                    // rank 0's random number for this run
};

// JSON, of one rank and of all by rank; the read functions return nullopt for anything else. Host
// names are printable ASCII without spaces: other characters become '?', since they reach messages.
std::string to_json(const PeerInfo& peer);
std::optional<PeerInfo> read_peer_info(const std::string& json);
std::string to_json(const std::vector<PeerInfo>& peers);
std::optional<std::vector<PeerInfo>> read_peer_table(const std::string& json);

// A deadline, and the seconds to it for messages.
struct JoinTimeout {
  explicit JoinTimeout(double limit);
  double seconds;
  Deadline end;
};

// Connects to `target` at one of its addresses and authenticates. Throws Error(collective) with
// both ranks and the addresses.
Socket connect_to_peer(const PeerInfo& self, const PeerInfo& target, const std::string& secret,
                       JoinTimeout timeout);

// Accepts connect_to_peer() of all ranks from `first` on; returns sockets by rank, empty below
// `first`. Throws Error(collective) with the ranks that did not connect.
std::vector<Socket> accept_peers(Acceptor& acceptor, const std::vector<PeerInfo>& peers, int first,
                                 JoinTimeout timeout);

// Returns the connections of this rank, which `acceptor` stands for, to all others; empty for
// itself.
std::vector<Socket> connect_mesh(Acceptor& acceptor, const std::vector<PeerInfo>& peers,
                                 JoinTimeout timeout);

// Returns "ranks 2, 3 of 4 did not connect to WHERE within 300 s: ...", for the ranks that are
// false in `joined`.
std::string missing_ranks_text(const std::vector<bool>& joined, const std::string& where,
                               double seconds, const Acceptor& acceptor);

}  // namespace spire::inline process
