#include "engine/base/atomic_file.h"

#include <cerrno>
#include <cstdio>
#include <sys/stat.h>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "engine/base/lasting_error.h"
#include "engine/base/regular_file.h"
#include "engine/base/system_limits.h"

namespace spire {
namespace {

// Names what could not be done and the system's reason, from errno.
[[noreturn]] void fail_errno(Category category, std::string_view what,
                             const std::filesystem::path& path) {
  int reason = errno;
  category = category_of(reason, category);
  std::string text = fmt::format("cannot {} {}: {}", what, path.string(), system_reason(reason));
  for (int lasting : {EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EISDIR, EEXIST, ELOOP, ENAMETOOLONG})
    if (reason == lasting) throw LastingError(category, text);
  throw Error(category, text);
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

AtomicWriter::AtomicWriter(std::filesystem::path path, Category category, Existing existing)
    : path_(std::move(path)), temporary_(path_), category_(category), existing_(existing) {
  temporary_ += temporary_suffix;
  look_at_former();
  open_temporary();
}

void AtomicWriter::look_at_former() {
  require_replaceable(path_, category_);
  struct stat status = {};
  if (::lstat(path_.c_str(), &status) != 0) return;  // what is wrong shows as it is written
  if (existing_ == Existing::keep && status.st_size > 0)
    fail(category_, "{}: is there already; name another file, or give --overwrite", path_.string());
  // Marked as unchangeable: told now, not when all is written. Mode bits do not keep a file's name.
  if (::access(path_.c_str(), W_OK) != 0 && errno == EPERM) fail_errno(category_, "replace", path_);
  former_ = {status.st_mode & 07777, status.st_uid, status.st_gid};
}

// Made anew, so that nobody else has it open. What a killed writer left is removed; of a name that
// a person chose it might be a file of theirs.
void AtomicWriter::open_temporary() {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  require_replaceable(temporary_, category_);
  if (existing_ == Existing::replace) ::unlink(temporary_.c_str());
  descriptor_ = ::open(temporary_.c_str(), flags, former_ ? former_->mode & 0777 : 0666);
  if (descriptor_ < 0 && errno == EEXIST)
    fail(category_,
         "{}: is there already, as a command that was killed leaves it; remove it, or give "
         "--overwrite",
         temporary_.string());
  if (descriptor_ < 0) fail_errno(category_, "create", temporary_);
  if (!former_) return;
  bool owned = ::fchown(descriptor_, former_->owner, former_->group) == 0;
  mode_t mode = owned ? former_->mode : former_->mode & 0777;
  struct stat status = {};
  if (::fstat(descriptor_, &status) == 0 && (status.st_mode & 07777) == mode) return;
  if (::fchmod(descriptor_, mode) == 0) return;
  int reason = errno;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
  errno = reason;
  fail_errno(category_, "set the mode of", temporary_);
}

AtomicWriter::~AtomicWriter() {
  if (committed_) return;
  if (descriptor_ >= 0) ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicWriter::write(std::string_view bytes) {
  if (!write_all(descriptor_, bytes)) fail_errno(category_, "write", temporary_);
}

void AtomicWriter::write_at(uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_errno(category_, "write", temporary_);
    bytes.remove_prefix(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
}

void AtomicWriter::commit() {
  if (::fsync(descriptor_) != 0) fail_errno(category_, "write", temporary_);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_errno(category_, "write", temporary_);
  take_name();
  committed_ = true;
  sync_directory(path_.has_parent_path() ? path_.parent_path() : ".", category_);
}

void AtomicWriter::take_name() {
  require_replaceable(path_, category_);
  if (existing_ == Existing::keep && !former_) {
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0)
      return;
    if (errno == EEXIST) {
      committed_ = true;  // the temporary stays
      fail(category_, "{}: was created meanwhile and is kept; the result is in {}", path_.string(),
           temporary_.string());
    }  // other file systems know only rename()
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_errno(category_, "rename to", path_);
}

void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::string_view> parts, Category category,
                           Existing existing) {
  AtomicWriter file(path, category, existing);
  for (std::string_view part : parts) file.write(part);
  file.commit();
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content,
                           Category category, Existing existing) {
  write_file_atomically(path, std::span(&content, 1), category, existing);
}

}  // namespace spire
