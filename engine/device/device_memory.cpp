#include "engine/device/device_memory.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/device/topology.h"

namespace spire {

// Allocates by mmap, not malloc: pages are zeroed by the kernel, begin at a page boundary, and
// return to the system at once.
Buffer::Buffer(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  size_t mapped = align_up(bytes, size_t{1} << 12);
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    fail(Category::out_of_memory, "cannot allocate {} of host memory: {}; lower batch_size",
         bytes_text(bytes), std::strerror(errno));
  }
  madvise(memory, mapped, MADV_HUGEPAGE);  // only advice: a refusal costs speed, not correctness
  memory_ = {static_cast<std::byte*>(memory), Free{mapped}};
}

void Buffer::Free::operator()(std::byte* memory) const {
  munmap(memory, bytes);
}

namespace {

// A CPU device's memory. CPU work is done when its call returns, so copies wait for nothing.
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

}  // namespace spire
