#include <fcntl.h>
#include <spire/base/error.h>
#include <spire/train/checkpoint_bytes.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace spire {

CheckpointBytes::CheckpointBytes(const std::filesystem::path& path) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    fail(Category::checkpoint, "cannot be opened: {}; does it exist and may it be read?",
         std::strerror(errno));
  }
  struct stat status {};
  bool file = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  size_ = static_cast<uint64_t>(status.st_size);
  if (file) return;
  ::close(descriptor_);
  fail(Category::checkpoint, "is no regular file");
}

CheckpointBytes::~CheckpointBytes() {
  ::close(descriptor_);
}

void CheckpointBytes::read(uint64_t offset, std::span<char> out) const {
  if (offset > size_ || out.size() > size_ - offset)
    fail(Category::checkpoint, "it is cut off after {} bytes", size_);
  while (!out.empty()) {
    ssize_t count = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      fail(Category::checkpoint, "cannot be read at byte {}: {}", offset, std::strerror(errno));
    }
    if (count == 0) fail(Category::checkpoint, "it is cut off after {} bytes", offset);
    out = out.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
}

std::string CheckpointBytes::read(uint64_t offset, uint64_t count) const {
  if (count > size_) fail(Category::checkpoint, "it is cut off after {} bytes", size_);
  std::string bytes(count, '\0');
  read(offset, bytes);
  return bytes;
}

}  // namespace spire
