// The largest element of a row, from which softmax and its losses count exponents.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

namespace spire {

template <typename T>
float largest_of_row(const T* x, int64_t width) {
  float most = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : most)
  for (int64_t c = 0; c < width; ++c) most = std::max(most, static_cast<float>(x[c]));
  return most;
}

}  // namespace spire
