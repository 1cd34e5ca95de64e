// Rows of a tensor, a warp each, and their columns, a lane after the other. For .cu files.
#pragma once
#include <cstdint>

#include "engine/device/cuda_kernel.h"

namespace spire {

constexpr int row_threads = 256;  // of a block
constexpr int rows_per_block = row_threads / warp_threads;

// The row of this thread's warp; it may lie behind the last.
__device__ inline int64_t row_of_warp() {
  return int64_t{blockIdx.x} * rows_per_block + threadIdx.x / warp_threads;
}

// Calls visit(column) for every N-th column that is this lane's.
template <int N = 1, typename Visit>
__device__ void over_columns(int64_t width, Visit visit) {
  for (int64_t c = threadIdx.x % warp_threads * N; c < width; c += warp_threads * N) visit(c);
}

}  // namespace spire
