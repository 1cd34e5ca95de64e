#include <fcntl.h>
#include <spire/base/error.h>
#include <spire/data/picture_file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr int64_t most_file_bytes = 256 << 20;

class Descriptor {
 public:
  explicit Descriptor(const fs::path& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (number_ < 0) fail(Category::data, "cannot be read: {}", std::strerror(errno));
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return number_; }  // NOLINT: it stands for the number

 private:
  int number_;
};

}  // namespace

void read_picture_file(const fs::path& path, std::vector<uint8_t>& bytes) {
  Descriptor file(path);
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
    fail(Category::data, "is not a regular file");
  if (status.st_size > most_file_bytes)
    fail(Category::data, "it has {} bytes, but pictures may have at most {}", status.st_size,
         most_file_bytes);
  bytes.resize(static_cast<size_t>(status.st_size));
  for (size_t done = 0; done < bytes.size();) {
    ssize_t got = ::read(file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(Category::data, "cannot be read: {}", std::strerror(errno));
    if (got == 0) fail(Category::data, "became shorter while it was read");
    done += static_cast<size_t>(got);
  }
}

}  // namespace spire
