#include "engine/base/write_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/file.h>
#include <sys/stat.h>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/system.h"
#include "engine/base/text.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

bool is_for_want_of_room(int reason) {
  return reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
}

// Throws with the operation that failed and errno's reason. Errors that stay until somebody acts
// are PermanentErrors: retries would only delay them.
[[noreturn]] void fail_errno(Category category, std::string_view what, const fs::path& path) {
  int reason = errno;
  category = category_of(reason, category);
  std::string text =
      fmt::format("cannot {} {}: {}", what, printable(path.string()), system_reason(reason));
  if (is_for_want_of_room(reason))
    throw Error(category, text + "; make room there, or name a file on another disk");
  for (int permanent : {EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EISDIR, EEXIST, ELOOP, ENAMETOOLONG})
    if (reason == permanent) throw PermanentError(category, text);
  throw Error(category, text);
}

// Writes the bytes by calls of `write_some(rest, done)`. Returns false with the reason in errno.
template <typename Write>
bool write_all(std::string_view bytes, const Write& write_some) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t written = write_some(bytes.substr(done), done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    done += static_cast<size_t>(written);
  }
  return true;
}

// pwrite() takes the offset as an argument, so threads share no position.
bool write_all_at(int descriptor, uint64_t offset, std::string_view bytes) {
  return write_all(bytes, [&](std::string_view rest, size_t done) {
    return ::pwrite(descriptor, rest.data(), rest.size(), static_cast<off_t>(offset + done));
  });
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

// Errors of PreallocatedFile and of renames: Error(data), since datasets are written so.
[[noreturn]] void fail_to(const char* what, const fs::path& path, int reason) {
  fail(category_of(reason, Category::data), "{}: cannot {}: {}; check the disk and the path",
       path.string(), what, std::strerror(reason));
}

[[noreturn]] void fail_for_room(const fs::path& path, int64_t bytes, const std::string& reason) {
  std::error_code error;
  fs::space_info space = fs::space(folder_of(path), error);
  fail(Category::device,
       "{}: needs {} bytes{}: {}; free space or choose another disk, then repeat the same command",
       path.string(), bytes, error ? "" : fmt::format(", {} are free", space.available), reason);
}

}  // namespace

void sync_directory(const fs::path& directory, Category category) {
  int folder = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail_errno(category, "open", directory);
  bool synced =
      ::fsync(folder) == 0 || errno == EINVAL;  // EINVAL: a network file system without it
  int reason = errno;
  ::close(folder);
  errno = reason;
  if (!synced) fail_errno(category, "sync", directory);
}

AtomicWriter::AtomicWriter(fs::path path, Category category, Existing existing)
    : path_(std::move(path)), temporary_(path_), category_(category), existing_(existing) {
  temporary_ += temporary_suffix;
  examine_former();
  open_temporary();
}

void AtomicWriter::examine_former() {
  require_replaceable(path_, category_);
  struct stat status = {};
  if (::lstat(path_.c_str(), &status) != 0) return;  // open_temporary() reports it
  if (existing_ == Existing::keep && status.st_size > 0)
    fail(Category::config, "{}: is there already; name another file, or give --overwrite",
         path_.string());
  // EPERM: the file is immutable (chattr +i), so commit() would fail after all the writing. EACCES
  // is no obstacle: renaming over a file needs no write permission for it.
  if (::access(path_.c_str(), W_OK) != 0 && errno == EPERM) fail_errno(category_, "replace", path_);
  former_ = {status.st_mode & 07777, status.st_uid, status.st_gid};
}

// O_EXCL: no other process has this file open. The leftover of a killed writer is removed, except
// with Existing::keep, where the user chose the name and the file may be theirs.
void AtomicWriter::open_temporary() {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  require_replaceable(temporary_, category_);
  if (existing_ == Existing::replace) ::unlink(temporary_.c_str());
  descriptor_ = ::open(temporary_.c_str(), flags, former_ ? former_->mode & 0777 : 0666);
  if (descriptor_ < 0 && errno == EEXIST)
    fail(Category::config,
         "{}: is there already, as a command that was killed leaves it; remove it, or give "
         "--overwrite",
         temporary_.string());
  if (descriptor_ < 0) fail_errno(category_, "create", temporary_);
  if (!former_) return;
  // Without the owner, set-uid and set-gid bits would be another user's: only 0777 is copied then.
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
  bool written = write_all(bytes, [&](std::string_view rest, size_t) {
    return ::write(descriptor_, rest.data(), rest.size());
  });
  if (!written) fail_errno(category_, "write", temporary_);
}

void AtomicWriter::write_at(uint64_t offset, std::string_view bytes) {
  if (!write_all_at(descriptor_, offset, bytes)) fail_errno(category_, "write", temporary_);
}

// Syncs the content before the rename: after a power cut the name belongs to a whole file.
void AtomicWriter::commit() {
  if (::fsync(descriptor_) != 0) fail_errno(category_, "write", temporary_);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_errno(category_, "write", temporary_);
  take_name();
  committed_ = true;
  // The new name survives a power cut only after its folder is synced.
  sync_directory(folder_of(path_), category_);
}

void AtomicWriter::take_name() {
  require_replaceable(path_, category_);
  if (existing_ == Existing::keep && !former_) {
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0)
      return;
    if (errno == EEXIST) {
      committed_ = true;  // the temporary stays
      fail(Category::config, "{}: was created meanwhile and is kept; the result is in {}",
           path_.string(), temporary_.string());
    }  // EINVAL and the like: this file system has only rename()
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_errno(category_, "rename to", path_);
}

std::error_code make_folder_of(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  return error;
}

void write_file_atomically(const fs::path& path, std::span<const std::string_view> parts,
                           Category category, Existing existing) {
  AtomicWriter file(path, category, existing);
  for (std::string_view part : parts) file.write(part);
  file.commit();
}

void write_file_atomically(const fs::path& path, std::string_view content, Category category,
                           Existing existing) {
  write_file_atomically(path, std::span(&content, 1), category, existing);
}

PreallocatedFile::PreallocatedFile(fs::path path)
    : path_(std::move(path)), descriptor_(open_in_place(path_, Category::data)) {
  // Other errors than EWOULDBLOCK mean a file system without locks: not a reason to stop.
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
  if (is_for_want_of_room(reason)) fail_for_room(path_, bytes, system_reason(reason));
  fail_to("take room for it", path_, reason);
}

void PreallocatedFile::resize(int64_t bytes) const {
  if (::ftruncate(descriptor_, bytes) != 0) fail_to("change its size", path_, errno);
}

void PreallocatedFile::write(int64_t offset, std::span<const std::byte> bytes) const {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (write_all_at(descriptor_, static_cast<uint64_t>(offset), text)) return;
  if (is_for_want_of_room(errno))
    fail_for_room(path_, offset + std::ssize(bytes), system_reason(errno));
  fail_to("write it", path_, errno);
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

int open_in_place(const fs::path& path, Category category) {
  require_replaceable(path, category);
  constexpr int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int descriptor = ::open(path.c_str(), flags, 0666);
  int reason = errno;
  if (descriptor < 0)
    fail(category_of(reason, category), "{}: cannot be written to: {}", path.string(),
         system_reason(reason));
  struct stat status = {};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return descriptor;
  ::close(descriptor);
  fail(category, "{}: is not a regular file", path.string());
}

void require_replaceable(const fs::path& path, Category category) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw PermanentError(category,
                         fmt::format("{}: is {}, but a regular file is needed there; move it away",
                                     printable(path.string()), kind_of_file(status.st_mode)));
}

}  // namespace spire
