// Calls of the CUDA runtime: error codes as exceptions, and the current device of a thread.
#pragma once
#include <source_location>
#include <span>

#include <cuda_runtime.h>

#include "engine/device/device.h"

namespace spire::inline device {

// Throws unless `code` is cudaSuccess: Error(out_of_memory) if the device is full,
// Error(collective) if it is lost, else Error(device). Names call, file, line and device, and says
// if it is sticky.
void check_cuda(cudaError_t code, const char* call,
                std::source_location where = std::source_location::current());

// Throws as check_cuda does if the device is why a library's call failed. Waits for nothing.
void check_device(const char* call, std::source_location where = std::source_location::current());

// Stores the names that messages use for GPUs, as CUDA does not name a GPU once it is lost.
void remember_gpus(std::span<const CudaDeviceInfo> gpus);

// Returns true if a GPU has failed or is gone: started again, the run goes on without it.
bool is_lost(cudaError_t code);

// Returns true if every later CUDA call of this process fails, too.
bool is_sticky(cudaError_t code);

// Makes a device the thread's current one during its own lifetime, then restores the one before.
class CurrentCudaDevice {
 public:
  explicit CurrentCudaDevice(int index) {
    check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
    check_cuda(cudaSetDevice(index), "cudaSetDevice");
  }
  ~CurrentCudaDevice() { cudaSetDevice(before_); }
  CurrentCudaDevice(const CurrentCudaDevice&) = delete;
  CurrentCudaDevice& operator=(const CurrentCudaDevice&) = delete;

 private:
  int before_ = 0;
};

}  // namespace spire::inline device
