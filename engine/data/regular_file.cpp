#include <fcntl.h>
#include <spire/base/error.h>
#include <spire/data/regular_file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace spire {
namespace {

// errno as a message, with what a person can do about it.
[[noreturn]] void fail_system(const std::filesystem::path& path, int error) {
  const char* advice = "check the disk and the path";
  if (error == ENOENT || error == ENOTDIR) advice = "check data.path";
  if (error == EACCES || error == EPERM) advice = "give this user read access (chmod, chown)";
  fail(Category::data, "{}: cannot be read: {}; {}", path.string(), std::strerror(error), advice);
}

uint64_t size_of_regular_file(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail_system(path, errno);
  if (S_ISDIR(status.st_mode))
    fail(Category::data, "{}: is a folder, expected a file; move it or correct data.path",
         path.string());
  if (!S_ISREG(status.st_mode))
    fail(Category::data, "{}: is not a regular file; put the data file itself there",
         path.string());
  return static_cast<uint64_t>(status.st_size);
}

}  // namespace

RegularFile::RegularFile(std::filesystem::path path)
    : path_(std::move(path)),
      bytes_(size_of_regular_file(path_)),
      descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail_system(path_, errno);
}

RegularFile::~RegularFile() {
  ::close(descriptor_);
}

void RegularFile::fail_reading(int error) const {
  fail_system(path_, error);
}

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::status(path, error).type() != std::filesystem::file_type::not_found;
}

}  // namespace spire
