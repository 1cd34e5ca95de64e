// Sums over the threads of a warp or block, in an order that is always the same. For .cu files.
#pragma once
#include <cstdint>

#include <cuda_runtime.h>

namespace spire::inline device {

constexpr unsigned full_warp = 0xffffffffu;
constexpr int warp_threads = 32;

struct Sum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Maximum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

// Of all 32 lanes, to all of them. REQUIRES: every lane of the warp calls.
template <typename T, typename Combine>
__device__ inline T warp_reduce(T value, Combine combine) {
  for (int step = warp_threads / 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(full_warp, value, step));
  return value;
}

// Of all threads of a block, to all of them. REQUIRES: every thread calls; blockDim is (threads, 1,
// 1), a multiple of 32. May be called again at once.
template <int threads, typename T, typename Combine>
__device__ inline T block_reduce(T value, Combine combine) {
  static_assert(threads % warp_threads == 0 && threads <= 1024);
  constexpr int warps = threads / warp_threads;
  value = warp_reduce(value, combine);
  if constexpr (warps > 1) {
    __shared__ T partial[warps];
    __syncthreads();  // whoever still reads the sums of an earlier call
    if (threadIdx.x % warp_threads == 0) partial[threadIdx.x / warp_threads] = value;
    __syncthreads();
    value = partial[0];
    for (int warp = 1; warp < warps; ++warp) value = combine(value, partial[warp]);
  }
  return value;
}

}  // namespace spire::inline device
