// GPUs of a build without CUDA: there are none, and each use of one is an error.
#include "engine/base/fail.h"
#include "engine/device/device.h"
#include "engine/device/device_memory.h"
#include "engine/device/gpu_requirements.h"
#include "engine/device/stream.h"

namespace spire {

CudaStatus discover_cuda() {
  CudaStatus status;
  status.why_none = "this build has no CUDA support (configure it with -DSPIRE_CUDA=ON)";
  return status;
}

std::optional<CudaVersions> cuda_versions() {
  return {};
}

void expect_usable_gpu(int index) {
  refuse_cuda(index);
}

void refuse_cuda(int index) {
  fail(Category::device, "cuda:{}: {}", index, discover_cuda().why_none);
}

std::unique_ptr<DeviceMemory> allocate_cuda_memory(int index, size_t) {
  refuse_cuda(index);
}

DeviceSpace space_of_cuda(int index) {
  refuse_cuda(index);
}

std::unique_ptr<DeviceMemory> allocate_cuda_staging(int index, size_t) {
  refuse_cuda(index);
}

std::unique_ptr<Stream> make_cuda_stream(int index, StreamPriority) {
  refuse_cuda(index);
}

void make_cuda_current(int index) {
  refuse_cuda(index);
}

PeerPairs find_peers(const std::vector<CudaDeviceInfo>&) {
  return {};
}

void connect_cuda_devices(std::span<const DeviceId> devices) {
  refuse_cuda(devices.front().index);
}

}  // namespace spire
