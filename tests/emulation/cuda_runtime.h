// The part of CUDA that Spire's own kernels use, on the CPU: the same .cu files compile with a C++
// compiler when this folder comes first among the include folders. So every kernel is tested on a
// machine without a GPU, under AddressSanitizer too.
//
// A launch runs its blocks one after another. The threads of a block are fibres of one CPU thread
// that hand over to each other at barriers, votes and shuffles only, in an order drawn anew each
// time: a missing barrier shows as a wrong value, and threads that wait for others which never come
// end the launch with an Error. Device memory is host memory, streams do their work at once.
//
// As on a device: shared memory is static in the kernel (there is no dynamic shared memory here)
// and holds garbage at first; a warp is 32 threads. Not shown: races within a warp that runs in
// lockstep by luck, memory ordering, speed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
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

namespace spire::emulation {

// Runs body once for each thread of each block. Throws Error(unexpected) where threads of a block
// wait for each other in vain.
void run(dim3 grid, dim3 block, const std::function<void()>& body);

// Of the fibre that calls. meet_warp hands each lane's word to the lanes of `mask`.
void meet_block();
int count_block(bool vote);
const uint64_t* meet_warp(unsigned mask, uint64_t word);
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

// What lane `from` of the caller's group of `width` lanes has; its own where there is none.
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
inline int __popc(unsigned bits) {
  return __builtin_popcount(bits);
}

// The runtime. What it does succeeds.
enum cudaError_t {
  cudaSuccess,
  cudaErrorMemoryAllocation,
  cudaErrorInvalidDevice,
  cudaErrorIllegalAddress,
  cudaErrorIllegalInstruction,
  cudaErrorMisalignedAddress,
  cudaErrorInvalidAddressSpace,
  cudaErrorInvalidPc,
  cudaErrorHardwareStackError,
  cudaErrorLaunchFailure,
  cudaErrorLaunchTimeout,
  cudaErrorAssert,
  cudaErrorECCUncorrectable,
  cudaErrorPeerAccessAlreadyEnabled,
};
using cudaStream_t = struct EmulatedStream*;

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  spire::emulation::run(config->gridDim, config->blockDim, [&] { kernel(arguments...); });
  return cudaSuccess;
}

inline const char* cudaGetErrorName(cudaError_t code) {
  return code == cudaSuccess ? "cudaSuccess" : "cudaError";
}
inline const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaSuccess ? "no error" : "emulated";
}
inline cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
inline cudaError_t cudaDeviceSynchronize() {
  return cudaSuccess;
}
inline cudaError_t cudaMalloc(void** memory, size_t bytes) {
  // Exactly so many, for AddressSanitizer.
  return ::posix_memalign(memory, 256, bytes) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault,
};
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemsetAsync(void* memory, int byte, size_t bytes, cudaStream_t) {
  std::memset(memory, byte, bytes);
  return cudaSuccess;
}

// Memory of the host that streams copy from and to.
constexpr unsigned cudaHostAllocPortable = 1;
inline cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  return cudaMalloc(memory, bytes);
}
inline cudaError_t cudaFreeHost(void* memory) {
  return cudaFree(memory);
}

// Streams and events: all work is done when a call returns.
using cudaEvent_t = struct EmulatedEvent*;
constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t) {
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return cudaSuccess;
}
