// A stream, an event, a number and kernels of the emulated device, for tests.
#pragma once
#include <cuda_runtime.h>

#include "engine/device/cuda_error.h"

namespace spire {

class TestStream {
 public:
  explicit TestStream(unsigned flags = cudaStreamNonBlocking) {
    check_cuda(cudaStreamCreateWithFlags(&stream_, flags), "cudaStreamCreateWithFlags");
  }
  TestStream(const TestStream&) = delete;
  ~TestStream() { cudaStreamDestroy(stream_); }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class TestEvent {
 public:
  explicit TestEvent(unsigned flags = cudaEventDisableTiming) {
    check_cuda(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreateWithFlags");
  }
  TestEvent(unsigned flags, int device) {
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    check_cuda(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreateWithFlags");
    check_cuda(cudaSetDevice(0), "cudaSetDevice");
  }
  TestEvent(const TestEvent&) = delete;
  ~TestEvent() { cudaEventDestroy(event_); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Read and written from outside of all streams: as the device's memory is at that time.
class DeviceInt {
 public:
  DeviceInt() {
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, sizeof(int)), "cudaMalloc");
    number_ = static_cast<int*>(memory);
  }
  DeviceInt(const DeviceInt&) = delete;
  ~DeviceInt() { cudaFree(number_); }
  int* get() const { return number_; }
  int value() const { return *number_; }
  void set(int value) { *number_ = value; }

 private:
  int* number_ = nullptr;
};

inline __global__ void set_number(int* out, int value) {
  *out = value;
}

inline __global__ void wait_for_one_that_left() {
  if (threadIdx.x == 7) return;
  __syncthreads();
}

}  // namespace spire
