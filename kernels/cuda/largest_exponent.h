// The largest exponent of floats, found by a block of a CUDA kernel.
#pragma once
#include <cstdint>

#include "engine/device/cuda_kernel.h"
#include "kernels/exact_grid.h"

namespace spire {

// Returns that of elements [begin, end) to thread 0; all threads of the block call it.
template <int threads>
__device__ int largest_exponent(const float* __restrict__ x, int64_t begin, int64_t end) {
  int largest = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += threads) {
    int exponent = exponent_of(x[i]);
    largest = exponent > largest ? exponent : largest;
  }
  return block_reduce<threads>(largest, Maximum{});
}

}  // namespace spire
