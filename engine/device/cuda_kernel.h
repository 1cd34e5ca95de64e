// Building blocks of CUDA kernels, for .cu files: launches, reductions over a warp or block, packs
// of elements for 16-byte loads. Kernels take plain values and pointers, and their shared memory is
// static, so that the same source also compiles for the CPU (tests/emulation).
#pragma once
#include <cstdint>
#include <utility>

#include <cuda_runtime.h>

#include <spire/tensor.h>

#include "engine/device/cuda_error.h"

namespace spire {

// std::min and std::max of two numbers, without <algorithm>, which takes long to compile.
template <typename T>
constexpr T smaller(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
constexpr T larger(T a, T b) {
  return a < b ? b : a;
}

// Returns the number of blocks for `n` items, `items` per block; at least 1.
inline unsigned blocks_for(int64_t n, int64_t items) {
  return n > items ? static_cast<unsigned>((n + items - 1) / items) : 1;
}

// Launches a kernel. Throws as check_cuda; faults inside the kernel are reported by a later call.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, void* stream,
            Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = static_cast<cudaStream_t>(stream);
  check_cuda(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...),
             "cudaLaunchKernelEx");
}

// Returns the compute capability for which the kernel's code that the current device runs was
// compiled: 80 is 8.0.
template <typename... Parameters>
int compiled_for(void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes{};
  check_cuda(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  return attributes.ptxVersion;
}

// Loads the kernels' code on the current device, if it is not loaded.
template <typename... Kernels>
void load_kernels(Kernels... kernels) {
  cudaFuncAttributes attributes{};
  (check_cuda(cudaFuncGetAttributes(&attributes, kernels), "cudaFuncGetAttributes"), ...);
}

constexpr unsigned full_warp = 0xffffffffu;
constexpr int warp_threads = 32;
constexpr int block_threads = 256;  // default size of a block

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

// Reduces the values of the 32 threads of a warp; each gets the result. The order is fixed: a
// butterfly of exchanges. REQUIRES: every thread of the warp calls it.
template <typename T, typename Combine>
__device__ inline T warp_reduce(T value, Combine combine) {
  for (int step = warp_threads / 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(full_warp, value, step));
  return value;
}

// Reduces the values of all threads of a block; each gets the result. The order is fixed: within
// warps first, then the warps' results one after another. Calls may follow each other directly.
// REQUIRES: every thread of the block calls it; blockDim is (threads, 1, 1), a multiple of 32.
template <int threads, typename T, typename Combine>
__device__ inline T block_reduce(T value, Combine combine) {
  static_assert(threads % warp_threads == 0 && threads <= 1024);
  constexpr int warps = threads / warp_threads;
  value = warp_reduce(value, combine);
  if constexpr (warps > 1) {
    __shared__ T partial[warps];
    __syncthreads();  // threads may still read `partial` of an earlier call
    if (threadIdx.x % warp_threads == 0) partial[threadIdx.x / warp_threads] = value;
    __syncthreads();
    value = partial[0];
    for (int warp = 1; warp < warps; ++warp) value = combine(value, partial[warp]);
  }
  return value;
}

// A pack: N adjacent elements, aligned to their total size. Up to 16 bytes are one load or store.
// load_pack() and store_pack() REQUIRE an address with that alignment.
template <typename T, int N>
struct alignas(N * sizeof(T)) Pack {
  T at[N];
};

template <typename T>
constexpr int pack_width = 16 / static_cast<int>(sizeof(T));  // elements of a 16-byte load

template <int N, typename T>
SPIRE_HOST_DEVICE inline Pack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

template <int N, typename T>
SPIRE_HOST_DEVICE inline void store_pack(const Pack<T, N>& pack, T* to) {
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

// Returns true if each row of `width` elements is aligned for packs of N elements, provided that
// the first row is.
template <int N>
bool rows_take_packs(int64_t width) {
  return width % N == 0;
}

}  // namespace spire
