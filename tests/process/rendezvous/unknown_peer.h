// Connections to a rendezvous by processes that do not belong to the run.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/process/frame.h"
#include "engine/process/socket.h"

namespace spire {

// One kind of attempt: it guesses a secret, or says frames and then bytes.
struct UnknownPeer {
  const char* name;
  std::optional<std::string> secret = {};
  std::vector<Frame> frames = {};
  std::string bytes = {};
  bool stays = false;  // its connection stays open, and it does not wait for an answer

  // Connects to the port and says its part. Returns true if it was accepted, or received more than
  // a nonce or a denial. Adds a connection that stays to `open`.
  bool visit(int port, std::vector<Socket>& open) const;
};
const std::vector<UnknownPeer>& unknown_peers();

}  // namespace spire
