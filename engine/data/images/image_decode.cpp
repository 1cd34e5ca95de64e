#include "engine/data/images/image_decode.h"

#include <algorithm>
#include <array>

#include <spire/error.h>

#include "engine/base/read_file.h"

namespace spire::inline data {
namespace {

template <size_t n>
bool begins_with(std::span<const uint8_t> file, const std::array<uint8_t, n>& magic) {
  return file.size() >= n && std::equal(magic.begin(), magic.end(), file.begin());
}

enum class Format { jpeg, png };

// Returns the format by its magic bytes. Throws Error(data) for any other.
Format format_of(std::span<const uint8_t> file) {
  if (is_jpeg(file)) return Format::jpeg;
  if (begins_with(file, std::array<uint8_t, 8>{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}))
    return Format::png;
  fail(Category::data, "its {} bytes are neither JPEG nor PNG; convert the file", file.size());
}

constexpr uint64_t max_file_bytes = 256 << 20;  // keeps a wrong path from filling memory

}  // namespace

bool is_jpeg(std::span<const uint8_t> file) {
  return begins_with(file, std::array<uint8_t, 3>{0xff, 0xd8, 0xff});
}

ImageSize image_size(std::span<const uint8_t> file) {
  return format_of(file) == Format::jpeg ? jpeg_size(file) : png_size(file);
}

void decode_image(std::span<const uint8_t> file, int reduce, RgbImage& image) {
  require(reduce == 1 || reduce == 2 || reduce == 4 || reduce == 8, "an image at 1 / {}", reduce);
  format_of(file) == Format::jpeg ? decode_jpeg(file, reduce, image) : decode_png(file, image);
}

void decode_labels(std::span<const uint8_t> file, LabelImage& image) {
  if (format_of(file) != Format::png)
    fail(Category::data,
         "a mask is a PNG file, and this one is not; JPEG, for one, changes pixels");
  decode_png_labels(file, image);
}

void check_image_size(ImageSize size, size_t bytes, int64_t pixels_per_byte) {
  if (size.height < 1 || size.width < 1 || size.height > max_image_side ||
      size.width > max_image_side || size.height * size.width > max_image_pixels)
    fail(Category::data,
         "the image has {} x {} pixels, but at most {} a side and {} in all are supported; make "
         "it smaller",
         size.height, size.width, max_image_side, max_image_pixels);
  // A damaged header may announce gigabytes of pixels; no buffer is allocated for those.
  if (size.height * size.width / pixels_per_byte > static_cast<int64_t>(bytes))
    fail(Category::data, "{} x {} pixels in {} bytes: the file is damaged, get an intact copy",
         size.height, size.width, bytes);
}

FileStamp read_image_file(const std::filesystem::path& path, std::vector<uint8_t>& bytes) {
  RegularFile file(path, Category::data);
  FileStamp stamp = stamp_of(file.descriptor(), path);
  if (stamp.bytes > max_file_bytes)
    fail(Category::data, "{}: it has {} bytes, but images may have at most {}", path.string(),
         stamp.bytes, max_file_bytes);
  bytes.resize(stamp.bytes);
  // A file that is cut off while it is read has another stamp, so a short read needs no check.
  file.read(std::as_writable_bytes(std::span(bytes)));
  require_unchanged(path, stamp, stamp_of(file.descriptor(), path));
  return stamp;
}

}  // namespace spire::inline data
