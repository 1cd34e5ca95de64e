// A listener that authenticates many new connections at a time and accepts those of the run. An
// unknown peer delays nobody, learns nothing, and is dropped after a short time.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/process/rendezvous/handshake.h"
#include "engine/process/socket.h"

namespace spire {

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

}  // namespace spire
