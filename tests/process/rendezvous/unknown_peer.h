// Connections to a rendezvous by processes that do not belong to the run.
#pragma once
#include <string>
#include <vector>

#include "engine/process/socket.h"

namespace spire {

// One kind of attempt. visit() connects to the port, sends its part, and returns true if it was let
// in, or told anything but a nonce or "denied". A connection that it leaves open is added to
// `open`.
struct UnknownPeer {
  const char* name;
  bool (*visit)(int port, std::vector<Socket>& open);
};
const std::vector<UnknownPeer>& unknown_peers();

}  // namespace spire
