#include <fcntl.h>
#include <spire/base/atomic_file.h>
#include <spire/base/system_limits.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace spire {
namespace {

// Names what could not be done and the system's reason, from errno.
[[noreturn]] void fail_errno(Category category, std::string_view what,
                             const std::filesystem::path& path) {
  int reason = errno;
  fail(category_of(reason, category), "cannot {} {}: {}", what, path.string(),
       system_reason(reason));
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

// Some network file systems have no fsync for folders (EINVAL).
void sync_directory(const std::filesystem::path& directory, Category category) {
  int folder = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail_errno(category, "open", directory);
  bool synced = ::fsync(folder) == 0 || errno == EINVAL;
  int reason = errno;
  ::close(folder);
  errno = reason;
  if (!synced) fail_errno(category, "sync", directory);
}

AtomicWriter::AtomicWriter(std::filesystem::path path, Category category)
    : path_(std::move(path)), temporary_(path_), category_(category) {
  temporary_ += temporary_suffix;
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_errno(category_, "create", temporary_);
}

AtomicWriter::~AtomicWriter() {
  if (committed_) return;
  if (descriptor_ >= 0) ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicWriter::write(std::string_view bytes) {
  if (!write_all(descriptor_, bytes)) fail_errno(category_, "write", temporary_);
}

void AtomicWriter::commit() {
  if (::fsync(descriptor_) != 0) fail_errno(category_, "write", temporary_);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_errno(category_, "write", temporary_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_errno(category_, "rename to", path_);
  committed_ = true;
  sync_directory(path_.has_parent_path() ? path_.parent_path() : ".", category_);
}

void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::string_view> parts, Category category) {
  AtomicWriter file(path, category);
  for (std::string_view part : parts) file.write(part);
  file.commit();
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content,
                           Category category) {
  write_file_atomically(path, std::span(&content, 1), category);
}

}  // namespace spire
