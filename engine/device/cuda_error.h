// Turns error codes of the CUDA runtime into exceptions, and switches a thread's current device.
#pragma once
#include <source_location>
#include <span>

#include <cuda_runtime.h>

namespace spire {

struct CudaDeviceInfo;  // device.h

// Throws unless `code` is cudaSuccess: Error(out_of_memory) if the device's memory is full,
// Error(collective) if the device is lost, else Error(device). Names call, file, line and device.
void check_cuda(cudaError_t code, const char* call,
                std::source_location where = std::source_location::current());

// Call it after a call of a CUDA library (such as cuBLASLt) has failed: throws as check_cuda() if
// the device itself has failed, else returns. Waits for no work.
void check_device(const char* call, std::source_location where = std::source_location::current());

// Stores the GPUs for cuda_ordinal(), and for messages, since CUDA cannot name a lost GPU.
// discover_cuda() calls it.
void remember_gpus(std::span<const CudaDeviceInfo> gpus);
// Returns the CUDA runtime's own number of the GPU that Spire calls cuda:<index>. Throws
// Error(device) if discover_cuda() does not list that GPU.
int cuda_ordinal(int index);

bool is_lost(cudaError_t code);  // a GPU failed or is gone; a restarted run goes on without it

bool is_sticky(cudaError_t code);  // from now on every CUDA call of this process fails

// Scope guard: makes a device the thread's current one for the lifetime of the object.
class CurrentCudaDevice {
 public:
  explicit CurrentCudaDevice(int index) {
    check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
    check_cuda(cudaSetDevice(cuda_ordinal(index)), "cudaSetDevice");
  }
  ~CurrentCudaDevice() { cudaSetDevice(before_); }
  CurrentCudaDevice(const CurrentCudaDevice&) = delete;
  CurrentCudaDevice& operator=(const CurrentCudaDevice&) = delete;

 private:
  int before_ = 0;
};

}  // namespace spire
