// Discovery and memory of GPUs in a build without CUDA.
#include <spire/base/error.h>
#include <spire/device/device.h>
#include <spire/device/device_memory.h>

namespace spire {

CudaStatus discover_cuda() {
  CudaStatus status;
  status.why_none = "this build has no CUDA; configure with -DSPIRE_CUDA=ON";
  return status;
}

std::unique_ptr<DeviceMemory> allocate_cuda_memory(int index, size_t) {
  fail(Category::device, "cuda:{}: {}", index, discover_cuda().why_none);
}

}  // namespace spire
