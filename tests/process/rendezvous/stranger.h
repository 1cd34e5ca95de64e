// Those who come to a rendezvous and do not belong there.
#pragma once
#include <string>
#include <vector>

#include "engine/process/socket.h"

namespace spire {

// Everything that a stranger can think of, by name. It connects to the port, says its part, and
// tells what came of it: true when it was let in, or told anything but a nonce or "denied". A
// connection that it would leave open is added to `open`.
struct Stranger {
  const char* name;
  bool (*visit)(int port, std::vector<Socket>& open);
};
const std::vector<Stranger>& strangers();

}  // namespace spire
