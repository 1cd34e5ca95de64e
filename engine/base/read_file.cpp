#include "engine/base/read_file.h"

#include <cerrno>
#include <memory>
#include <span>

#include <fcntl.h>
#include <unistd.h>

#include "engine/base/regular_file.h"
#include "engine/base/system_limits.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// With the reason from errno.
[[noreturn]] void cannot_read(Category category, const fs::path& path) {
  int reason = errno;
  fail(category_of(reason, category), "{}: cannot be read: {}", path.string(),
       system_reason(reason));
}

// Reads to the end by `read_some`, which fills a block or returns less at the end.
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

std::vector<fs::path> list_folder(const fs::path& folder, Category category) {
  std::vector<fs::path> names;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && it != fs::directory_iterator(); it.increment(error))
    names.push_back(it->path().filename());
  if (error)
    fail(category_of(error.value(), category), "{}: cannot be listed: {}", folder.string(),
         system_reason(error.value()));
  return names;
}

}  // namespace spire
