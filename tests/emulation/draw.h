// Random numbers for what CUDA leaves open, such as which stream runs next: the same at every
// start.
#pragma once
#include <cstdint>

namespace spire::emulation {

struct Draw {
  using result_type = uint32_t;
  static constexpr uint32_t min() { return 0; }
  static constexpr uint32_t max() { return ~0u; }
  uint32_t operator()() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 32);
  }
  uint64_t state = 1;
};

}  // namespace spire::emulation
