// Errors of the CUDA runtime as Spire's own.
#pragma once
#include <source_location>
#include <span>

#include <cuda_runtime.h>

#include "engine/device/device.h"

namespace spire::inline device {

// Throws where `code` is not cudaSuccess: Error(out_of_memory) when the device has no memory left,
// Error(collective) when the device itself is lost, else Error(device). The message names call,
// file and line, device and what CUDA says; after an error that ruins the context ("sticky": an
// illegal address, say) it tells so, as nothing on that device works again in this process.
void check_cuda(cudaError_t code, const char* call,
                std::source_location where = std::source_location::current());

// After a library's call has failed: throws as above where it failed because of the device, as CUDA
// tells it. Waits for nothing.
void check_device(const char* call, std::source_location where = std::source_location::current());

// What messages call the GPUs; CUDA does not tell any more when one is lost.
void remember_gpus(std::span<const CudaDeviceInfo> gpus);

// Whether it tells that a GPU has failed or is gone: nothing is wrong with the run, which goes on
// without that GPU where it is started again.
bool is_lost(cudaError_t code);

// Whether every later call in this process fails with it too.
bool is_sticky(cudaError_t code);

}  // namespace spire::inline device
