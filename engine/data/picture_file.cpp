#include <spire/base/error.h>
#include <spire/base/regular_file.h>
#include <spire/data/picture_file.h>

namespace spire {
namespace {

constexpr uint64_t most_file_bytes = 256 << 20;

}  // namespace

FileStamp read_picture_file(const std::filesystem::path& path, std::vector<uint8_t>& bytes) {
  RegularFile file(path, Category::data);
  FileStamp stamp = stamp_of(file.descriptor(), path);
  if (stamp.bytes > most_file_bytes)
    fail(Category::data, "{}: it has {} bytes, but pictures may have at most {}", path.string(), stamp.bytes,
         most_file_bytes);
  bytes.resize(stamp.bytes);
  file.read(std::as_writable_bytes(std::span(bytes)));  // where it ends early the stamp says so
  require_same(path, stamp, stamp_of(file.descriptor(), path));
  return stamp;
}

}  // namespace spire
