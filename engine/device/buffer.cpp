#include "engine/device/buffer.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

#include <spire/error.h>

namespace spire::inline device {

Buffer::Buffer(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  size_t mapped = align_up(bytes, size_t{1} << 12);
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    fail(Category::out_of_memory, "cannot allocate {:.1f} MiB of host memory: {}; lower batch_size",
         static_cast<double>(bytes) / 1048576.0, std::strerror(errno));
  }
  madvise(memory, mapped, MADV_HUGEPAGE);  // advice only: small pages do as well
  memory_ = {static_cast<std::byte*>(memory), Free{mapped}};
}

void Buffer::Free::operator()(std::byte* memory) const {
  munmap(memory, bytes);
}

}  // namespace spire::inline device
