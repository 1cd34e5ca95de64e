// The time of the steady clock as a number, since a moment that is fixed while the machine runs.
#pragma once
#include <chrono>
#include <cstdint>

namespace spire {

inline int64_t steady_ns() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace spire
