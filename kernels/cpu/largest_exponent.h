// The largest exponent of floats, on the CPU.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/exact_grid.h"

namespace spire {

inline int largest_exponent(const float* x, int64_t count) {
  uint32_t most = 0;
  for (int64_t i = 0; i < count; ++i)
    most = std::max(most, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  return static_cast<int>(most >> 23);
}

}  // namespace spire
