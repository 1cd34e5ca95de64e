#include <spire/device/cuda_error.h>
#include <spire/device/device_memory.h>

#include <algorithm>

namespace spire {
namespace {

// Makes a device the thread's current one for as long as it lives.
class CurrentDevice {
 public:
  explicit CurrentDevice(int index) {
    check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
    check_cuda(cudaSetDevice(index), "cudaSetDevice");
  }
  ~CurrentDevice() { cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

class CudaMemory : public DeviceMemory {
 public:
  CudaMemory(int index, size_t bytes) : DeviceMemory(bytes), index_(index) {
    CurrentDevice current(index_);
    check_cuda(cudaMalloc(&memory_, std::max<size_t>(bytes, 1)), "cudaMalloc");
  }
  // What fails here failed before: an error of the device, which an earlier call has told.
  ~CudaMemory() override { cudaFree(memory_); }

  void* data() const override { return memory_; }
  void write(const void* host, size_t bytes) override {
    CurrentDevice current(index_);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check_cuda(cudaMemcpy(memory_, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  void read(void* host, size_t bytes) const override {
    CurrentDevice current(index_);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check_cuda(cudaMemcpy(host, memory_, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  }

 private:
  int index_;
  void* memory_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceMemory> allocate_cuda_memory(int index, size_t bytes) {
  return std::make_unique<CudaMemory>(index, bytes);
}

}  // namespace spire
