// Error codes of the CUDA runtime as exceptions, and the current device of a thread.
#pragma once
#include <source_location>
#include <span>

#include <cuda_runtime.h>

#include "engine/device/device.h"

namespace spire::inline device {

// Throws unless cudaSuccess: Error(out_of_memory) if the device is full, Error(collective) if it is
// lost, else Error(device). Names call, file, line and device.
void check_cuda(cudaError_t code, const char* call,
                std::source_location where = std::source_location::current());

// Throws as check_cuda if a library's call failed because of the device. Waits for nothing.
void check_device(const char* call, std::source_location where = std::source_location::current());

// Stores the GPUs' names for messages: CUDA does not name a lost GPU.
void remember_gpus(std::span<const CudaDeviceInfo> gpus);

bool is_lost(cudaError_t code);  // a GPU failed or is gone; a restarted run goes on without it

bool is_sticky(cudaError_t code);  // every later CUDA call of this process fails, too

// Makes a device the thread's current one for its own lifetime.
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
