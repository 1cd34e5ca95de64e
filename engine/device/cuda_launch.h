// Starting a kernel of our own: launch(kernel, grid, block, stream, arguments...). For .cu files.
// Kernels take plain values and pointers; shared memory is static in the kernel, so that the same
// source also compiles for the CPU (tests/emulation).
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include <cuda_runtime.h>

#include "engine/device/cuda_error.h"

namespace spire::inline device {

// Blocks that cover `n` items, `items` a block; one at least.
inline unsigned blocks_for(int64_t n, int64_t items) {
  return static_cast<unsigned>(std::max<int64_t>(1, (n + items - 1) / items));
}

// Throws Error as check_cuda does. What a kernel itself does wrong shows at a later call.
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

// The compute capability that the kernel's code on the current device is written for: 80 is 8.0.
template <typename... Parameters>
int compiled_for(void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes{};
  check_cuda(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  return attributes.ptxVersion;
}

}  // namespace spire::inline device
