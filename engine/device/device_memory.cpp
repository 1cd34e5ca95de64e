#include "engine/device/device_memory.h"

#include <cstring>

#include "engine/device/buffer.h"
#include "engine/device/host_memory.h"

namespace spire::inline device {
namespace {

class HostMemory : public DeviceMemory {
 public:
  explicit HostMemory(size_t bytes) : DeviceMemory(bytes), buffer_(bytes) {}

  void* data() const override { return const_cast<std::byte*>(buffer_.data()); }
  bool on_host() const override { return true; }
  void write(const void* host, size_t bytes, size_t offset) override {
    if (bytes > 0) std::memcpy(buffer_.data() + offset, host, bytes);
  }
  void read(void* host, size_t bytes, size_t offset) const override {
    if (bytes > 0) std::memcpy(host, buffer_.data() + offset, bytes);
  }

 private:
  Buffer buffer_;
};

}  // namespace

std::unique_ptr<DeviceMemory> allocate_memory(DeviceId device, size_t bytes) {
  if (device.kind == DeviceKind::cuda) return allocate_cuda_memory(device.index, bytes);
  return std::make_unique<HostMemory>(bytes);
}

DeviceSpace space_of(DeviceId device) {
  if (device.kind == DeviceKind::cuda) return space_of_cuda(device.index);
  HostSpace host = host_space();
  return {host.free, host.total, host.limited_by};
}

std::unique_ptr<DeviceMemory> allocate_staging(DeviceId device, size_t bytes) {
  if (device.kind == DeviceKind::cuda) return allocate_cuda_staging(device.index, bytes);
  return std::make_unique<HostMemory>(bytes);
}

}  // namespace spire::inline device
