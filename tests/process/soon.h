// When what a test waits for has come.
#pragma once
#include <chrono>

#include "engine/process/socket.h"

namespace spire {

inline Deadline soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

}  // namespace spire
