// A full mesh of connections between the ranks of a run, which know each other's PeerInfo.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spire/world.h>

#include "engine/process/rendezvous/handshake.h"
#include "engine/process/socket.h"

namespace spire {

// A listener that authenticates many new connections at a time and accepts those of the run. An
// unknown peer delays nobody, learns nothing, and is dropped after a short time.
class Acceptor {
 public:
  struct Limits {
    size_t pending = 64;                     // connections that are not yet authenticated
    std::chrono::milliseconds time{10'000};  // for each of them to authenticate
  };
  Acceptor(Listener listener, Credentials credentials, Limits limits);

  const Credentials& credentials() const { return credentials_; }

  struct Connection {
    Socket socket;
    ConnectRequest request;
    std::string peer_info;  // JSON of its PeerInfo, if it joins
  };
  // Returns the next connection that HandshakeServer accepts; nullopt at the deadline. Throws
  // Error(device) if not even one connection can be opened (Listener::accept).
  std::optional<Connection> next(Deadline deadline);

  // Returns " (turned away connections: 2 that said nothing, ...)"; "" if there were none.
  std::string turned_away() const;

 private:
  struct Pending {
    Socket socket;
    Deadline end;
    HandshakeServer handshake;
  };
  std::optional<Connection> advance_all();
  void wait(Deadline deadline) const;
  void accept_waiting();
  void drop_one();

  Listener listener_;
  const Credentials credentials_;
  const Limits limits_;
  std::vector<Pending> pending_;  // oldest first
  int silent_ = 0, foreign_ = 0, denied_ = 0;
};

// A rank and where it listens.
struct PeerInfo {
  RankInfo info;
  int size = 1;                        // ranks of the run, as this process knows it
  int port = 0;                        // port on which it listens for other ranks
  std::vector<std::string> addresses;  // of this rank, for others to try in turn
  uint64_t run = 0;                    // in rank 0's: its random number for this run
};

// Convert one rank, or all (one entry per rank), to and from JSON; nullopt for malformed texts.
// Characters of a host's name that are not printable ASCII become '?'.
std::string to_json(const PeerInfo& peer);
std::optional<PeerInfo> read_peer_info(const std::string& json);
std::string to_json(const std::vector<PeerInfo>& peers);
std::optional<std::vector<PeerInfo>> read_peer_table(const std::string& json);

// A deadline, and the limit in seconds that messages show.
struct JoinTimeout {
  explicit JoinTimeout(double limit);
  double seconds;
  Deadline end;
};

// Returns the next connection; nullopt if all ranks from `first` on have one. sockets: one per
// rank, empty if it has not connected yet. Throws Error(collective) at the timeout: "ranks 2, 3 of
// 4 did not connect to WHERE within 300 s: ...".
std::optional<Acceptor::Connection> accept_missing(Acceptor& acceptor,
                                                   const std::vector<Socket>& sockets, int first,
                                                   const std::string& where,
                                                   const JoinTimeout& timeout);

// Connects this rank, that of the acceptor's credentials, to all others. Returns one socket per
// rank, empty for itself. Throws Error(collective) with the ranks that are missing.
std::vector<Socket> connect_mesh(Acceptor& acceptor, const std::vector<PeerInfo>& peers,
                                 const JoinTimeout& timeout);

}  // namespace spire
