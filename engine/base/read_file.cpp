#include "engine/base/read_file.h"

#include <cerrno>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/system.h"
#include "engine/base/text.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// Throws for an errno, with a remedy. Only a missing file is a plain Error: for all else the file
// itself may be good.
[[noreturn]] void fail_system(Category category, const fs::path& path, int error) {
  bool absent = error == ENOENT || error == ENOTDIR;
  const char* advice = absent ? "check the path" : "check the disk";
  if (error == EACCES || error == EPERM) advice = "give this user read access (chmod, chown)";
  if (category_of(error, category) != category) advice = "the file itself may be good";
  std::string text = fmt::format("{}: cannot be read: {}; {}", printable(path.string()),
                                 system_reason(error), advice);
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

// Calls stat() before open(), since opening a device may have side effects, and fstat() after it,
// since the name may change hands between the two. O_NONBLOCK: such a FIFO must not block open().
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

// Fills `out` by calls of `read_some(rest, done)` until the file ends.
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

// Throws with the reason in errno.
[[noreturn]] void cannot_read(Category category, const fs::path& path) {
  int reason = errno;
  fail(category_of(reason, category), "{}: cannot be read: {}", path.string(),
       system_reason(reason));
}

// Reads to the end by calls of `read_some(block)`, which returns 0 there.
template <typename Read>
std::string read_to_end(const fs::path& path, Category category, size_t max_bytes,
                        const Read& read_some) {
  constexpr size_t block = 64 << 10;
  std::string text;
  for (;;) {
    size_t before = text.size();
    text.resize(before + block);
    size_t count = read_some(std::as_writable_bytes(std::span(text)).subspan(before));
    text.resize(before + count);
    if (text.size() > max_bytes)
      fail(category, "{}: is larger than {} bytes; name a smaller file", path.string(), max_bytes);
    if (count == 0) return text;
  }
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

size_t RegularFile::read_at(uint64_t offset, std::span<std::byte> out) const {
  return read_all_of(*this, out, [&](std::span<std::byte> rest, size_t done) {
    return ::pread(descriptor_, rest.data(), rest.size(), static_cast<off_t>(offset + done));
  });
}

void RegularFile::fail_reading(int error) const {
  fail_system(category_, path_, error);
}

std::string_view kind_of_file(mode_t mode) {
  if (S_ISREG(mode)) return "a regular file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a link";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

bool is_named(int descriptor, const fs::path& path) {
  struct stat open_one = {}, named = {};
  // Two names are one file if device and inode agree.
  if (::fstat(descriptor, &open_one) != 0) return false;
  if (::stat(path.c_str(), &named) != 0) return errno != ENOENT && errno != ENOTDIR;
  return open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::status(path, error).type() != fs::file_type::not_found;
}

bool begins_with(const std::filesystem::path& path, std::string_view bytes) {
  try {
    auto file = RegularFile::if_there(path, Category::data);
    std::string begin(bytes.size(), '\0');
    return file && file->read(std::as_writable_bytes(std::span(begin))) == begin.size() &&
           begin == bytes;
  } catch (const Error&) {
    return false;
  }
}

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  RegularFile file(path_, Category::data);
  if (file.bytes() == 0) return;  // mmap() refuses a length of 0
  void* memory = ::mmap(nullptr, file.bytes(), PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (memory == MAP_FAILED) file.fail_reading(errno);
  bytes_ = {static_cast<const std::byte*>(memory), file.bytes()};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(other.path_), bytes_(std::exchange(other.bytes_, {})) {}

std::optional<std::string> read_file_if_there(const fs::path& path, Category category,
                                              size_t max_bytes) {
  auto file = RegularFile::if_there(path, category);
  if (!file) return std::nullopt;
  return read_to_end(path, category, max_bytes,
                     [&](std::span<std::byte> out) { return file->read(out); });
}

std::string read_stream(int descriptor, const fs::path& name, Category category, size_t max_bytes) {
  return read_to_end(name, category, max_bytes, [&](std::span<std::byte> out) {
    ssize_t count = 0;
    do {
      count = ::read(descriptor, out.data(), out.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0) cannot_read(category, name);
    return static_cast<size_t>(count);
  });
}

std::string read_stream(const fs::path& path, Category category, size_t max_bytes) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) cannot_read(category, path);
  std::unique_ptr<int, void (*)(int*)> closing(&descriptor, [](int* file) { ::close(*file); });
  return read_stream(descriptor, path, category, max_bytes);
}

// Uses error codes: the text of a filesystem_error lacks the remedies of system_reason().
std::vector<fs::path> list_folder(const fs::path& folder, Category category) {
  std::vector<fs::path> names;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  if (error == std::errc::no_such_file_or_directory) return names;  // a missing folder is empty
  for (; !error && it != fs::directory_iterator(); it.increment(error))
    names.push_back(it->path().filename());
  if (error)
    fail(category_of(error.value(), category), "{}: cannot be listed: {}", folder.string(),
         system_reason(error.value()));
  return names;
}

}  // namespace spire
