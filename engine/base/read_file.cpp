#include <fcntl.h>
#include <spire/base/read_file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace spire {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_read(Category category, const fs::path& path, int reason) {
  fail(category, "{}: cannot be read: {}", path.string(), std::strerror(reason));
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : value_(::open(path.c_str(), flags | O_CLOEXEC)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return value_; }

 private:
  int value_;
};

std::string read_to_end(int descriptor, const fs::path& path, Category category,
                        size_t most_bytes) {
  constexpr size_t block = 64 << 10;
  std::string text;
  for (;;) {
    size_t before = text.size();
    text.resize(before + block);
    ssize_t count = ::read(descriptor, text.data() + before, block);
    int reason = errno;
    text.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return text;
    if (count < 0 && reason != EINTR) cannot_read(category, path, reason);
    if (text.size() > most_bytes)
      fail(category, "{}: larger than {} bytes", path.string(), most_bytes);
  }
}

}  // namespace

std::optional<std::string> read_file_if_there(const fs::path& path, Category category,
                                              size_t most_bytes) {
  Descriptor file(path, O_RDONLY | O_NONBLOCK);
  if (file < 0 && errno == ENOENT) return std::nullopt;
  struct stat status = {};
  if (file < 0 || ::fstat(file, &status) != 0) cannot_read(category, path, errno);
  if (!S_ISREG(status.st_mode)) fail(category, "{}: is not a regular file", path.string());
  return read_to_end(file, path, category, most_bytes);
}

std::string read_stream(const fs::path& path, Category category, size_t most_bytes) {
  Descriptor file(path, O_RDONLY);
  if (file < 0) cannot_read(category, path, errno);
  return read_to_end(file, path, category, most_bytes);
}

std::vector<fs::path> list_folder(const fs::path& folder, Category category) {
  std::vector<fs::path> names;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && it != fs::directory_iterator(); it.increment(error))
    names.push_back(it->path().filename());
  if (error) fail(category, "{}: cannot be listed: {}", folder.string(), error.message());
  return names;
}

}  // namespace spire
