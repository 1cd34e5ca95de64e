#include "engine/base/preallocated_file.h"

#include <cerrno>
#include <cstring>
#include <sys/file.h>
#include <sys/stat.h>
#include <utility>

#include <unistd.h>

#include "engine/base/atomic_file.h"
#include "engine/base/regular_file.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

[[noreturn]] void fail_to(const char* what, const fs::path& path, int reason) {
  fail(Category::data, "{}: cannot {}: {}; check the disk and the path", path.string(), what,
       std::strerror(reason));
}

[[noreturn]] void fail_for_room(const fs::path& path, int64_t bytes, const std::string& reason) {
  std::error_code error;
  fs::space_info space = fs::space(folder_of(path), error);
  fail(Category::data,
       "{}: needs {} bytes{}: {}; free space or choose another disk, then repeat the same command",
       path.string(), bytes, error ? "" : fmt::format(", {} are free", space.available), reason);
}

bool is_for_want_of_room(int reason) {
  return reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
}

}  // namespace

PreallocatedFile::PreallocatedFile(fs::path path)
    : path_(std::move(path)), descriptor_(open_in_place(path_, Category::data)) {
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  fail(Category::data, "{}: another process is writing it; wait until it ends", path_.string());
}

PreallocatedFile::~PreallocatedFile() {
  ::close(descriptor_);
}

int64_t PreallocatedFile::bytes() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail_to("look at it", path_, errno);
  return status.st_size;
}

void PreallocatedFile::reserve(int64_t bytes) const {
  int reason = ::posix_fallocate(descriptor_, 0, bytes);
  if (reason == 0) return;
  if (is_for_want_of_room(reason)) fail_for_room(path_, bytes, std::strerror(reason));
  fail_to("take room for it", path_, reason);
}

void PreallocatedFile::resize(int64_t bytes) const {
  if (::ftruncate(descriptor_, bytes) != 0) fail_to("change its size", path_, errno);
}

void PreallocatedFile::write(int64_t place, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), place);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && is_for_want_of_room(errno))
      fail_for_room(path_, place + std::ssize(bytes), std::strerror(errno));
    if (written < 0) fail_to("write it", path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
    place += written;
  }
}

void PreallocatedFile::sync() const {
  if (::fsync(descriptor_) != 0) fail_to("write it", path_, errno);
}

void PreallocatedFile::take_mode_of(const fs::path& former) const {
  struct stat status {};
  if (::stat(former.c_str(), &status) != 0) return;
  if (::fchmod(descriptor_, status.st_mode & 0777) != 0) fail_to("set its mode", path_, errno);
}

void require_room(const fs::path& file, int64_t bytes) {
  std::error_code error;
  fs::space_info space = fs::space(folder_of(file), error);
  if (!error && space.available < static_cast<uintmax_t>(bytes))
    fail_for_room(file, bytes, std::strerror(ENOSPC));
}

void rename_durably(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    fail_to(fmt::format("be renamed to {}", to.string()).c_str(), from, errno);
  sync_directory(folder_of(to), Category::data);
}

}  // namespace spire
