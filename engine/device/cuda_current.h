// The CUDA device of a thread.
#pragma once
#include "engine/device/cuda_error.h"

namespace spire::inline device {

// Makes a device the thread's current one for as long as it lives.
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
