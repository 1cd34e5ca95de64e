// Connections to a rendezvous by processes that do not belong to the run.
#pragma once
#include <string>
#include <vector>

#include "engine/process/socket.h"

namespace spire {

// One kind of attempt. visit() connects to the port, sends its bytes, and returns true if it was
// accepted or received more than a nonce or a denial. It adds connections that stay open to `open`.
struct UnknownPeer {
  const char* name;
  bool (*visit)(int port, std::vector<Socket>& open);
};
const std::vector<UnknownPeer>& unknown_peers();

}  // namespace spire
