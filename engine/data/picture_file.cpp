#include <spire/base/error.h>
#include <spire/base/regular_file.h>
#include <spire/data/picture_file.h>

namespace spire {
namespace {

constexpr uint64_t most_file_bytes = 256 << 20;

}  // namespace

void read_picture_file(const std::filesystem::path& path, std::vector<uint8_t>& bytes) {
  RegularFile file(path, Category::data);
  if (file.bytes() > most_file_bytes)
    fail(Category::data, "{}: {} bytes; pictures of up to {} are read", path.string(), file.bytes(),
         most_file_bytes);
  bytes.resize(file.bytes());
  if (file.read(std::as_writable_bytes(std::span(bytes))) < bytes.size())
    fail(Category::data, "{}: became shorter while it was read", path.string());
}

}  // namespace spire
