// Assigns each row of a tensor to a warp, and the row's columns to the warp's lanes in turn. For
// .cu files.
#pragma once
#include <cstdint>

#include "engine/device/cuda_kernel.h"

namespace spire {

constexpr int row_threads = 256;  // of a block
constexpr int rows_per_block = row_threads / warp_threads;

// Returns the row of this thread's warp; it may be past the last row.
__device__ inline int64_t row_of_warp() {
  return int64_t{blockIdx.x} * rows_per_block + threadIdx.x / warp_threads;
}

// Deals the columns [0, width) in packs of N to the warp's lanes in turn; calls visit(first column)
// for each pack of this lane.
template <int N = 1, typename Visit>
__device__ void over_columns(int64_t width, Visit visit) {
  for (int64_t c = threadIdx.x % warp_threads * N; c < width; c += warp_threads * N) visit(c);
}

}  // namespace spire
