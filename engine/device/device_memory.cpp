#include <spire/device/buffer.h>
#include <spire/device/device_memory.h>

#include <unistd.h>

#include <cstring>

namespace spire {
namespace {

class HostMemory : public DeviceMemory {
 public:
  explicit HostMemory(size_t bytes) : DeviceMemory(bytes), buffer_(bytes) {}

  void* data() const override { return const_cast<std::byte*>(buffer_.data()); }
  bool on_host() const override { return true; }
  void write(const void* host, size_t bytes) override {
    if (bytes > 0) std::memcpy(buffer_.data(), host, bytes);
  }
  void read(void* host, size_t bytes) const override {
    if (bytes > 0) std::memcpy(host, buffer_.data(), bytes);
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
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return {{}, static_cast<size_t>(pages) * static_cast<size_t>(page)};
}

std::unique_ptr<DeviceMemory> allocate_staging(DeviceId device, size_t bytes) {
  if (device.kind == DeviceKind::cuda) return allocate_cuda_staging(device.index, bytes);
  return std::make_unique<HostMemory>(bytes);
}

}  // namespace spire
