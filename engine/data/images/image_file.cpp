#include "engine/data/images/image_file.h"

#include <spire/error.h>

#include "engine/base/regular_file.h"

namespace spire::inline data {
namespace {

constexpr uint64_t max_file_bytes = 256 << 20;

}  // namespace

FileStamp read_image_file(const std::filesystem::path& path, std::vector<uint8_t>& bytes) {
  RegularFile file(path, Category::data);
  FileStamp stamp = stamp_of(file.descriptor(), path);
  if (stamp.bytes > max_file_bytes)
    fail(Category::data, "{}: it has {} bytes, but images may have at most {}", path.string(),
         stamp.bytes, max_file_bytes);
  bytes.resize(stamp.bytes);
  file.read(std::as_writable_bytes(std::span(bytes)));  // where it ends early the stamp says so
  require_unchanged(path, stamp, stamp_of(file.descriptor(), path));
  return stamp;
}

}  // namespace spire::inline data
