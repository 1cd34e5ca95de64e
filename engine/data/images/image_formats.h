// Reads and decodes JPEG, PNG, WebP, BMP and TIFF files. A file's first bytes decide its format,
// not its name.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/input_file.h"

namespace spire {

struct ImageSize {
  int64_t height = 0, width = 0;
  bool operator==(const ImageSize&) const = default;
};

struct RgbImage {
  ImageSize size = {};
  std::vector<uint8_t> pixels = {};  // (H, W, 3); decoding the next image reuses the memory
};

bool is_image_name(const std::filesystem::path& path);  // by its ending, upper or lower case
std::string image_endings();                            // ".jpg, ..., .tif or .tiff file"

inline constexpr uint64_t max_image_bytes = 256 << 20;  // of a file, so that none fills memory
inline constexpr int64_t max_image_side = 16384;        // pixels
inline constexpr int64_t max_image_pixels = int64_t{1} << 27;

// Reads a whole file into `bytes` and returns its stamp. Throws Error(data), naming the file, if it
// is larger than 256 MiB or cannot be read; FileChanged if it is written meanwhile.
FileStamp read_image_file(const std::filesystem::path& path, std::vector<uint8_t>& bytes);

// The functions below throw Error(data), without the file's name, for files they cannot read.

// Reads only the header, and Exif's orientation: the size as a viewer shows the image.
ImageSize image_size(std::span<const uint8_t> file);
bool begins(std::span<const uint8_t> file, std::string_view magic);
bool is_jpeg(std::span<const uint8_t> file);
bool is_png(std::span<const uint8_t> file);
bool is_webp(std::span<const uint8_t> file);

// Decodes to RGB, turned upright as Exif says: gray and palettes become colors, transparent pixels
// are blended with black (value * alpha / 255), 16 bits become value / 257. reduce: decodes a JPEG
// at 1 / reduce of its size (1, 2, 4 or 8).
void decode_image(std::span<const uint8_t> file, int reduce, RgbImage& image);

struct LabelImage {
  ImageSize size = {};
  std::vector<uint8_t> labels = {};  // (H, W)
};

// Decodes a PNG file of gray or palette pixels to their stored numbers, turned upright. Throws for
// other files: colors are no labels, and other formats may change pixels.
void decode_labels(std::span<const uint8_t> file, LabelImage& image);

// The parts of image_size() and decode_image() for each format, as the pixels are stored.
ImageSize jpeg_size(std::span<const uint8_t> file);
void decode_jpeg(std::span<const uint8_t> file, int reduce, RgbImage& image);
ImageSize png_size(std::span<const uint8_t> file);
void decode_png(std::span<const uint8_t> file, RgbImage& image);
void decode_png_labels(std::span<const uint8_t> file, LabelImage& image);
ImageSize bmp_size(std::span<const uint8_t> file);
void decode_bmp(std::span<const uint8_t> file, RgbImage& image);
// In a build without libwebp or libtiff the functions for that format refuse all files.
ImageSize webp_size(std::span<const uint8_t> file);
void decode_webp(std::span<const uint8_t> file, RgbImage& image);
ImageSize tiff_size(std::span<const uint8_t> file);
void decode_tiff(std::span<const uint8_t> file, RgbImage& image);

// Turns pixels (H, W, 4) into (H, W, 3), blended with black, in place. premultiplied: the colors
// are multiplied by alpha already.
void rgb_from_rgba(bool premultiplied, RgbImage& image);

// Throws unless `size` is within the limits above and at most bytes * pixels_per_byte pixels.
void check_image_size(ImageSize size, size_t bytes, int64_t pixels_per_byte);

// How images are turned, by the tag Orientation of Exif 3.0 (CIPA DC-008, 4.6.5), and how viewers
// turn them back.

// Returns the orientation that a JPEG, PNG, WebP or TIFF file states: 1 (upright) to 8; 1 where it
// states none, or one that does not exist.
int exif_orientation(std::span<const uint8_t> file);

// Size of the upright image: 5 to 8 lie on a side.
ImageSize upright_size(ImageSize stored, int orientation);

// Turns pixels (H, W, channels) upright. size: of the stored pixels, then of the upright ones.
void turn_upright(int orientation, int64_t channels, ImageSize& size, std::vector<uint8_t>& pixels);

}  // namespace spire
