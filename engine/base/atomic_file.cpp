#include <fcntl.h>
#include <spire/base/atomic_file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace spire {
namespace {

// Names what could not be done and the system's reason, from errno.
[[noreturn]] void fail_errno(Category category, std::string_view what,
                             const std::filesystem::path& path) {
  int reason = errno;
  fail(category, "cannot {} {}: {}", what, path.string(), std::strerror(reason));
}

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags)
      : value_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool open() const { return value_ >= 0; }
  int get() const { return value_; }
  bool close() { return ::close(std::exchange(value_, -1)) == 0; }

 private:
  int value_;
};

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

void write_durably(const std::filesystem::path& path, std::span<const std::string_view> parts,
                   Category category) {
  Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file.open()) fail_errno(category, "create", path);
  for (std::string_view part : parts)
    if (!write_all(file.get(), part)) fail_errno(category, "write", path);
  if (::fsync(file.get()) != 0) fail_errno(category, "write", path);
  if (!file.close()) fail_errno(category, "write", path);
}

// Makes the rename itself durable. Some network file systems have no fsync for folders (EINVAL).
void sync_directory(const std::filesystem::path& directory, Category category) {
  Descriptor folder(directory, O_RDONLY | O_DIRECTORY);
  if (!folder.open()) fail_errno(category, "open", directory);
  if (::fsync(folder.get()) != 0 && errno != EINVAL) fail_errno(category, "sync", directory);
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::string_view> parts, Category category) {
  std::filesystem::path temporary = path;
  temporary += temporary_suffix;
  try {
    write_durably(temporary, parts, category);
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail_errno(category, "rename to", path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_directory(path.has_parent_path() ? path.parent_path() : ".", category);
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content,
                           Category category) {
  write_file_atomically(path, std::span(&content, 1), category);
}

}  // namespace spire
