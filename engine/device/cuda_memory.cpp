#include <algorithm>
#include <cstring>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/device/cuda_error.h"
#include "engine/device/device_memory.h"

namespace spire {
namespace {

[[noreturn]] void out_of_memory(int index, size_t bytes) {
  cudaGetLastError();  // clears the error: a caller may free memory and go on
  DeviceSpace space = space_of_cuda(index);
  fail(Category::out_of_memory, "cuda:{}: cannot allocate {}; {} of {} are free", index,
       bytes_text(bytes), bytes_text(*space.free), bytes_text(space.total));
}

[[noreturn]] void no_pinned_memory(int index, size_t bytes) {
  cudaGetLastError();
  fail(Category::out_of_memory,
       "cuda:{}: cannot allocate {} of pinned host memory; lower data.prefetch or batch_size",
       index, bytes_text(bytes));
}

// GPU memory. Copies are synchronous and wait for all streams first, as the interface promises: the
// engine's streams are non-blocking, so the default stream does not wait for them by itself.
class CudaMemory : public DeviceMemory {
 public:
  CudaMemory(int index, size_t bytes) : DeviceMemory(bytes), index_(index) {
    CurrentCudaDevice current(index_);
    cudaError_t code = cudaMalloc(&memory_, std::max<size_t>(bytes, 1));  // of 0 bytes it is null
    if (code == cudaErrorMemoryAllocation) out_of_memory(index_, bytes);
    check_cuda(code, "cudaMalloc");
  }
  // An error here is one of the device, which an earlier call has reported.
  ~CudaMemory() override { cudaFree(memory_); }

  void* data() const override { return memory_; }
  bool on_host() const override { return false; }
  void write(const void* host, size_t bytes, size_t offset) override {
    CurrentCudaDevice current(index_);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check_cuda(cudaMemcpy(at(offset), host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    // cudaMemcpy from pageable memory may return before the data has arrived on the device.
    check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }
  void read(void* host, size_t bytes, size_t offset) const override {
    CurrentCudaDevice current(index_);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check_cuda(cudaMemcpy(host, at(offset), bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  }

 private:
  std::byte* at(size_t offset) const { return static_cast<std::byte*>(memory_) + offset; }

  int index_;
  void* memory_ = nullptr;
};

// Host memory that the GPU copies from and to directly.
class PinnedMemory : public DeviceMemory {
 public:
  PinnedMemory(int index, size_t bytes) : DeviceMemory(bytes) {
    CurrentCudaDevice current(index);
    // Portable: pinned for the streams of all devices.
    cudaError_t code = cudaHostAlloc(&memory_, std::max<size_t>(bytes, 1), cudaHostAllocPortable);
    if (code == cudaErrorMemoryAllocation) no_pinned_memory(index, bytes);
    check_cuda(code, "cudaHostAlloc");
    std::memset(memory_, 0, bytes);
  }
  ~PinnedMemory() override { cudaFreeHost(memory_); }

  void* data() const override { return memory_; }
  bool on_host() const override { return true; }
  void write(const void* host, size_t bytes, size_t offset) override {
    if (bytes > 0) std::memcpy(static_cast<std::byte*>(memory_) + offset, host, bytes);
  }
  void read(void* host, size_t bytes, size_t offset) const override {
    if (bytes > 0) std::memcpy(host, static_cast<std::byte*>(memory_) + offset, bytes);
  }

 private:
  void* memory_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceMemory> allocate_cuda_memory(int index, size_t bytes) {
  return std::make_unique<CudaMemory>(index, bytes);
}

DeviceSpace space_of_cuda(int index) {
  CurrentCudaDevice current(index);
  size_t free_bytes = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
  return {free_bytes, total};
}

std::unique_ptr<DeviceMemory> allocate_cuda_staging(int index, size_t bytes) {
  return std::make_unique<PinnedMemory>(index, bytes);
}

}  // namespace spire
