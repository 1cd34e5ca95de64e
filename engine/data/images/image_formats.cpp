#include "engine/data/images/image_formats.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"

namespace spire {
namespace {

using namespace std::string_view_literals;

bool is_bmp(std::span<const uint8_t> file) {
  return begins(file, "BM");
}
bool is_tiff(std::span<const uint8_t> file) {
  return begins(file, "II*\0"sv) || begins(file, "MM\0*"sv);
}

struct ImageFormat {
  bool (*matches)(std::span<const uint8_t> file);
  ImageSize (*size)(std::span<const uint8_t> file);
  void (*decode)(std::span<const uint8_t> file, RgbImage& image);
};

constexpr std::array image_formats = {
    ImageFormat{
        is_jpeg, jpeg_size,
        [](std::span<const uint8_t> file, RgbImage& image) { decode_jpeg(file, 1, image); }},
    ImageFormat{is_png, png_size, decode_png},
    ImageFormat{is_webp, webp_size, decode_webp},
    ImageFormat{is_bmp, bmp_size, decode_bmp},
    ImageFormat{is_tiff, tiff_size, decode_tiff},
};

constexpr std::array<std::string_view, 8> endings = {".jpg",  ".jpeg", ".jfif", ".png",
                                                     ".webp", ".bmp",  ".tif",  ".tiff"};

// Returns the format by its magic bytes. Throws Error(data) for any other.
const ImageFormat& format_of(std::span<const uint8_t> file) {
  for (const ImageFormat& format : image_formats)
    if (format.matches(file)) return format;
  if (begins(file, "\x1f\x8b"))
    fail(Category::data, "it is compressed by gzip; unpack it by gunzip");
  fail(Category::data,
       "its {} bytes are no JPEG, PNG, WebP, BMP or TIFF image; convert or remove the file",
       file.size());
}

}  // namespace

bool is_image_name(const std::filesystem::path& path) {
  return std::ranges::count(endings, lower_case(path.extension().string())) > 0;
}

std::string image_endings() {
  auto last = endings.end() - 1;
  return fmt::format("{} or {} file", fmt::join(endings.begin(), last, ", "), *last);
}

bool begins(std::span<const uint8_t> file, std::string_view magic) {
  return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}
bool is_png(std::span<const uint8_t> file) {
  return begins(file, "\x89PNG\r\n\x1a\n");
}
bool is_webp(std::span<const uint8_t> file) {
  return begins(file, "RIFF") && file.size() >= 8 && begins(file.subspan(8), "WEBP");
}
bool is_jpeg(std::span<const uint8_t> file) {
  return begins(file, "\xff\xd8\xff");
}

ImageSize image_size(std::span<const uint8_t> file) {
  return upright_size(format_of(file).size(file), exif_orientation(file));
}

void decode_image(std::span<const uint8_t> file, int reduce, RgbImage& image) {
  require(reduce == 1 || reduce == 2 || reduce == 4 || reduce == 8, "an image at 1 / {}", reduce);
  is_jpeg(file) ? decode_jpeg(file, reduce, image) : format_of(file).decode(file, image);
  turn_upright(exif_orientation(file), 3, image.size, image.pixels);
}

void rgb_from_rgba(bool premultiplied, RgbImage& image) {
  auto count = static_cast<size_t>(image.size.height * image.size.width);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* from = image.pixels.data() + 4 * i;
    unsigned alpha = premultiplied ? 255 : from[3];
    for (size_t c = 0; c < 3; ++c)
      image.pixels[3 * i + c] = static_cast<uint8_t>((from[c] * alpha + 127) / 255);
  }
  image.pixels.resize(3 * count);
}

void decode_labels(std::span<const uint8_t> file, LabelImage& image) {
  if (!is_png(file))
    fail(Category::data,
         "a mask is a PNG file, and this one is not (JPEG, for one, changes pixels); write it as "
         "PNG");
  decode_png_labels(file, image);
  turn_upright(exif_orientation(file), 1, image.size, image.labels);
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
    fail(Category::data, "{} x {} pixels in {} bytes: the file is damaged; get an intact copy",
         size.height, size.width, bytes);
}

FileStamp read_image_file(const std::filesystem::path& path, std::vector<uint8_t>& bytes) {
  RegularFile file(path, Category::data);
  FileStamp stamp = stamp_of(file.descriptor(), path);
  if (stamp.bytes > max_image_bytes)
    fail(Category::data, "{}: it has {} bytes, but images may have at most {}", path.string(),
         stamp.bytes, max_image_bytes);
  bytes.resize(stamp.bytes);
  // A file that is cut off while it is read has another stamp, so a short read needs no check.
  file.read(std::as_writable_bytes(std::span(bytes)));
  require_unchanged(path, stamp, stamp_of(file.descriptor(), path));
  return stamp;
}

}  // namespace spire
