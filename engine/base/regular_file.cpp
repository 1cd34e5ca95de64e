#include "engine/base/regular_file.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "engine/base/lasting_error.h"
#include "engine/base/system_limits.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// errno as a message, with what a person can do about it.
[[noreturn]] void fail_system(Category category, const fs::path& path, int error) {
  bool absent = error == ENOENT || error == ENOTDIR;
  const char* advice = absent ? "check the path" : "check the disk";
  if (error == EACCES || error == EPERM) advice = "give this user read access (chmod, chown)";
  if (category_of(error, category) != category) advice = "the file itself may be good";
  std::string text =
      fmt::format("{}: cannot be read: {}; {}", path.string(), system_reason(error), advice);
  if (absent) throw Error(category, text);
  throw UnreadableFile(category_of(error, category), text);
}

void require_regular(Category category, const fs::path& path, const struct stat& status) {
  if (!S_ISREG(status.st_mode))
    fail(category, "{}: is {}, not a regular file; put the file itself there", path.string(),
         kind_of_file(status.st_mode));
}

struct Opened {
  int descriptor = -1;
  uint64_t bytes = 0;
  int error = 0;  // errno; 0: it is open
};

// Looks before it opens, as opening a device may do something. Should something else get the name
// meanwhile, O_NONBLOCK keeps a FIFO from being waited for.
Opened open_regular(Category category, const fs::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return {.error = errno};
  require_regular(category, path, status);
  int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return {.error = errno};
  try {
    if (::fstat(descriptor, &status) != 0) fail_system(category, path, errno);
    require_regular(category, path, status);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  return {.descriptor = descriptor, .bytes = static_cast<uint64_t>(status.st_size)};
}

// Fills `out` by calls of `read_some(rest, done)`, unless the file ends before.
template <typename Read>
size_t read_all_of(const RegularFile& file, std::span<std::byte> out, const Read& read_some) {
  size_t done = 0;
  while (done < out.size()) {
    ssize_t got = read_some(out.subspan(done), done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) file.fail_reading(errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace

std::optional<RegularFile> RegularFile::if_there(const fs::path& path, Category category) {
  Opened file = open_regular(category, path);
  if (file.error == ENOENT) return std::nullopt;
  if (file.error != 0) fail_system(category, path, file.error);
  return RegularFile(path, category, file.bytes, file.descriptor);
}

RegularFile::RegularFile(fs::path path, Category category)
    : path_(std::move(path)), category_(category) {
  Opened file = open_regular(category, path_);
  if (file.error != 0) fail_system(category, path_, file.error);
  bytes_ = file.bytes;
  descriptor_ = file.descriptor;
}

RegularFile::RegularFile(fs::path path, Category category, uint64_t bytes, int descriptor)
    : path_(std::move(path)), category_(category), bytes_(bytes), descriptor_(descriptor) {}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : path_(other.path_),
      category_(other.category_),
      bytes_(other.bytes_),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

size_t RegularFile::read(std::span<std::byte> out) const {
  return read_all_of(*this, out, [&](std::span<std::byte> rest, size_t) {
    return ::read(descriptor_, rest.data(), rest.size());
  });
}

size_t RegularFile::read_at(uint64_t place, std::span<std::byte> out) const {
  return read_all_of(*this, out, [&](std::span<std::byte> rest, size_t done) {
    return ::pread(descriptor_, rest.data(), rest.size(), static_cast<off_t>(place + done));
  });
}

void RegularFile::fail_reading(int error) const {
  fail_system(category_, path_, error);
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

std::string_view kind_of_file(mode_t mode) {
  if (S_ISREG(mode)) return "a regular file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a link";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

void require_replaceable(const fs::path& path, Category category) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw LastingError(category,
                       fmt::format("{}: is {}, but a regular file is needed there; move it away",
                                   path.string(), kind_of_file(status.st_mode)));
}

bool is_named(int descriptor, const fs::path& path) {
  struct stat open_one = {}, named = {};
  if (::fstat(descriptor, &open_one) != 0) return false;
  if (::stat(path.c_str(), &named) != 0) return errno != ENOENT && errno != ENOTDIR;
  return open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::status(path, error).type() != fs::file_type::not_found;
}

}  // namespace spire
