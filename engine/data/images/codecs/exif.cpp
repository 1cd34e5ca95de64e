#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/data/images/image_formats.h"

namespace spire {
namespace {

using FileBytes = std::span<const uint8_t>;

// Returns at most `count` bytes from `begin` on; fewer, or none, at the end.
FileBytes bytes_at(FileBytes bytes, uint64_t begin, uint64_t count) {
  if (begin >= bytes.size()) return {};
  return bytes.subspan(begin, std::min<uint64_t>(count, bytes.size() - begin));
}

// Returns a natural number of `count` bytes; nullopt behind the end.
std::optional<uint64_t> number_at(FileBytes bytes, uint64_t begin, uint64_t count, bool big) {
  FileBytes digits = bytes_at(bytes, begin, count);
  if (digits.size() < count) return {};
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | digits[big ? i : count - 1 - i];
  return value;
}

// Reads the first directory of a TIFF file, which a block of Exif is as well.
int orientation_in_tiff(FileBytes tiff) {
  constexpr uint64_t tag = 0x0112, entry_bytes = 12, short_type = 3, long_type = 4;
  bool big = begins(tiff, "MM");
  if (!big && !begins(tiff, "II")) return 1;
  uint64_t directory = number_at(tiff, 4, 4, big).value_or(0);
  uint64_t entries = number_at(tiff, directory, 2, big).value_or(0);
  for (uint64_t i = 0; i < entries; ++i) {
    uint64_t entry = directory + 2 + i * entry_bytes;
    if (number_at(tiff, entry, 2, big) != tag) continue;
    auto type = number_at(tiff, entry + 2, 2, big);
    if (type != short_type && type != long_type) return 1;
    uint64_t value = number_at(tiff, entry + 8, type == short_type ? 2 : 4, big).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

constexpr std::string_view exif_mark("Exif\0\0", 6);

// Segments of a JPEG: ff, a marker, and for most a length that counts itself; before the pixels.
int orientation_in_jpeg(FileBytes file) {
  constexpr uint8_t application = 0xe1, start_of_scan = 0xda;
  for (uint64_t at = 2; at + 4 <= file.size() && file[at] == 0xff;) {
    uint8_t marker = file[at + 1];
    if (marker == 0xff) {  // filled up
      ++at;
      continue;
    }
    if (marker == start_of_scan) break;
    uint64_t length = *number_at(file, at + 2, 2, true);
    FileBytes content = bytes_at(file, at + 4, length < 2 ? 0 : length - 2);
    if (marker == application && begins(content, exif_mark))
      return orientation_in_tiff(content.subspan(exif_mark.size()));
    at += 2 + length;
  }
  return 1;
}

// Chunks of a PNG file: a length, a name, the content and a checksum.
int orientation_in_png(FileBytes file) {
  for (uint64_t at = 8; at < file.size();) {
    uint64_t length = number_at(file, at, 4, true).value_or(0);
    if (begins(bytes_at(file, at + 4, 4), "eXIf"))
      return orientation_in_tiff(bytes_at(file, at + 8, length));
    at += 12 + length;
  }
  return 1;
}

// Chunks of a WebP file: a name, a length, and the content, filled up to an even length.
int orientation_in_webp(FileBytes file) {
  for (uint64_t at = 12; at < file.size();) {
    uint64_t length = number_at(file, at + 4, 4, false).value_or(0);
    FileBytes content = bytes_at(file, at + 8, length);
    if (begins(bytes_at(file, at, 4), "EXIF"))
      return orientation_in_tiff(
          content.subspan(begins(content, exif_mark) ? exif_mark.size() : 0));
    at += 8 + length + length % 2;
  }
  return 1;
}

}  // namespace

int exif_orientation(FileBytes file) {
  if (is_jpeg(file)) return orientation_in_jpeg(file);
  if (is_png(file)) return orientation_in_png(file);
  if (is_webp(file)) return orientation_in_webp(file);
  return orientation_in_tiff(file);
}

ImageSize upright_size(ImageSize stored, int orientation) {
  return orientation < 5 ? stored : ImageSize{stored.width, stored.height};
}

void turn_upright(int orientation, int64_t channels, ImageSize& size,
                  std::vector<uint8_t>& pixels) {
  if (orientation == 1) return;
  auto [rows, columns] = size;
  bool on_side = orientation >= 5;
  // Whether the stored rows, and columns, run against those that they become.
  bool rows_back = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  bool columns_back = orientation == 2 || orientation == 3 || orientation >= 7;
  size = upright_size(size, orientation);
  std::vector<uint8_t> upright(pixels.size());
  uint8_t* to = upright.data();
  for (int64_t y = 0; y < size.height; ++y)
    for (int64_t x = 0; x < size.width; ++x) {
      int64_t row = on_side ? x : y, column = on_side ? y : x;
      if (rows_back) row = rows - 1 - row;
      if (columns_back) column = columns - 1 - column;
      const uint8_t* from = pixels.data() + (row * columns + column) * channels;
      for (int64_t c = 0; c < channels; ++c) *to++ = from[c];
    }
  pixels = std::move(upright);
}

}  // namespace spire
