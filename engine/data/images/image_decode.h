// Reads and decodes JPEG and PNG files. The first bytes of a file tell its format, not its name.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "engine/data/change_detection.h"

namespace spire::inline data {

struct ImageSize {
  int64_t height = 0, width = 0;
  bool operator==(const ImageSize&) const = default;
};

struct RgbImage {
  ImageSize size = {};
  std::vector<uint8_t> pixels = {};  // (H, W, 3); memory is reused by the next image
};

inline constexpr int64_t max_image_side = 16384;  // pixels
inline constexpr int64_t max_image_pixels = int64_t{1} << 27;

// Reads a whole file and returns its stamp. Throws Error(data), naming the file, where it has over
// 256 MiB or cannot be read; FileChanged where it is written meanwhile.
FileStamp read_image_file(const std::filesystem::path& path, std::vector<uint8_t>& bytes);

// The functions below throw Error(data), without the file's name, for any file that does not fit.

ImageSize image_size(std::span<const uint8_t> file);  // from the header alone
bool is_jpeg(std::span<const uint8_t> file);

// Decodes to RGB: gray values and palettes become colors, transparent pixels lie on black, 16 bits
// become 8. A JPEG may be decoded at 1 / `reduce` (1, 2, 4 or 8) of its size, which is faster.
void decode_image(std::span<const uint8_t> file, int reduce, RgbImage& image);

// For image_size() and decode_image() only.
ImageSize jpeg_size(std::span<const uint8_t> file);
void decode_jpeg(std::span<const uint8_t> file, int reduce, RgbImage& image);
ImageSize png_size(std::span<const uint8_t> file);
void decode_png(std::span<const uint8_t> file, RgbImage& image);

// Throws unless `size` is within the limits and at most bytes * pixels_per_byte pixels.
void check_image_size(ImageSize size, size_t bytes, int64_t pixels_per_byte);

}  // namespace spire::inline data
