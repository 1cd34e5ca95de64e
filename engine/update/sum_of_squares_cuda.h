// The sum of the squares of a gradient's chunks, by one block. For .cu files.
#pragma once
#include "engine/device/cuda_kernel.h"

namespace spire::inline update {

// In an order that `count` and `threads` fix; thread 0 gets it.
template <int threads>
__device__ inline double sum_of_squares(const double* squares, int64_t count) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += threads) sum += squares[i];
  return block_reduce<threads>(sum, Sum{});
}

}  // namespace spire::inline update
