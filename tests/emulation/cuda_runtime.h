// The part of CUDA that Spire's own kernels use, on the CPU: the same .cu files compile with a C++
// compiler when this folder comes first among the include folders. So every kernel is tested on a
// machine without a GPU, under AddressSanitizer too.
//
// A launch runs its blocks one after another. The threads of a block are fibres of one CPU thread
// that hand over to each other at barriers, votes and shuffles only, in an order drawn anew each
// time: a missing barrier shows as a wrong value, and threads that wait for others which never come
// end the launch with an Error. Device memory is host memory. Streams: cuda_runtime_api.h.
//
// As on a device: shared memory is static in the kernel (there is no dynamic shared memory here)
// and holds garbage at first; a warp is 32 threads. Not shown: races within a warp that runs in
// lockstep by luck, memory ordering, speed.
#pragma once
#include <atomic>
#include <cmath>  // sqrtf and the like come with the runtime
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>

#include "cuda_runtime_api.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned xs = 1, unsigned ys = 1, unsigned zs = 1) : x(xs), y(ys), z(zs) {}
};

inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;
constexpr int warpSize = 32;

struct alignas(16) float4 {
  float x, y, z, w;
};

namespace spire::emulation {

// Runs body once for each thread of each block. Throws Error(unexpected) where threads of a block
// wait for each other in vain.
void run(dim3 grid, dim3 block, const std::function<void()>& body);

// Collective work of a warp: done once, by its last lane to arrive, with the words of all lanes.
using WarpWork = void (*)(const uint64_t* words);

// Hands the word of each lane in `mask` to all of them. Called by each of these lanes.
void meet_block();
int count_block(bool vote);
const uint64_t* meet_warp(unsigned mask, uint64_t word, WarpWork work = nullptr);
int lane();

template <typename T>
uint64_t word_of(T value) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  return word;
}

template <typename T>
T value_of(uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

// Returns the value of lane `from` of the caller's group of `width` lanes; the caller's if there is
// none.
template <typename T>
T shuffle(unsigned mask, T value, int from, int width) {
  const uint64_t* words = meet_warp(mask, word_of(value));
  int group = lane() / width * width;
  bool inside = from >= group && from < group + width;
  return inside ? value_of<T>(words[from]) : value;
}

}  // namespace spire::emulation

inline void __syncthreads() {
  spire::emulation::meet_block();
}
inline int __syncthreads_count(int vote) {
  return spire::emulation::count_block(vote != 0);
}
inline int __syncthreads_or(int vote) {
  return __syncthreads_count(vote) > 0;
}
inline int __syncthreads_and(int vote) {
  return __syncthreads_count(vote) == static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  spire::emulation::meet_warp(mask, 0);
}
template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  int group = spire::emulation::lane() / width * width;
  return spire::emulation::shuffle(mask, value, group + from % width, width);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  return spire::emulation::shuffle(mask, value, spire::emulation::lane() ^ bits, width);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  return spire::emulation::shuffle(mask, value, spire::emulation::lane() + static_cast<int>(by),
                                   width);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  return spire::emulation::shuffle(mask, value, spire::emulation::lane() - static_cast<int>(by),
                                   width);
}
inline unsigned __ballot_sync(unsigned mask, int vote) {
  const uint64_t* words = spire::emulation::meet_warp(mask, vote != 0);
  unsigned votes = 0;
  for (unsigned i = 0; i < 32; ++i)
    if (mask >> i & 1u && words[i]) votes |= 1u << i;
  return votes;
}
inline int __any_sync(unsigned mask, int vote) {
  return __ballot_sync(mask, vote) != 0;
}
inline int __all_sync(unsigned mask, int vote) {
  return __ballot_sync(mask, vote) == mask;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline int __popc(unsigned bits) {
  return __builtin_popcount(bits);
}

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

namespace spire::emulation {

// Puts work on a stream of the current device: a launch of `body` as run() does it, and, in the
// place of a library's kernels, any function.
// kernel: its address. On each device the first launch loads it, see load_kernel().
cudaError_t put_launch(const void* kernel, const cudaLaunchConfig_t& config,
                       std::function<void()> body);
cudaError_t put_kernel(cudaStream_t stream, std::function<void()> kernel);

}  // namespace spire::emulation

struct cudaFuncAttributes {
  int ptxVersion = 0;
};

namespace spire::emulation {

// The compute capability that kernels report for their code: 80 is 8.0.
inline std::atomic<int> compiled_for = 90;

// Loads a kernel on the current device, if it is not loaded: waits for all work of the device,
// under one lock for all devices, which real drivers may do.
cudaError_t load_kernel(const void* kernel);

// Notes that a kernel reads another device's memory (devices.h).
void count_read(const void* from, size_t bytes);

}  // namespace spire::emulation

template <typename... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*kernel)(Parameters...)) {
  attributes->ptxVersion = spire::emulation::compiled_for;
  return spire::emulation::load_kernel(reinterpret_cast<const void*>(kernel));
}

// Arguments are copied at the call.
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  return spire::emulation::put_launch(reinterpret_cast<const void*>(kernel), *config,
                                      [=] { std::apply(kernel, values); });
}

template <typename T>
T __ldcs(const T* from) {
  spire::emulation::count_read(from, sizeof(T));
  return *from;
}
