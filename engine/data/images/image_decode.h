// JPEG and PNG files as pixels. What a file is shows in its first bytes, not in its name.
#pragma once
#include <span>

#include "engine/data/images/rgb_image.h"

namespace spire::inline data {

inline constexpr int64_t max_image_side = 16384;  // pixels
inline constexpr int64_t max_image_pixels = int64_t{1} << 27;

// All throw Error(data), without the file's name, for bytes that are no whole image: unknown,
// truncated or damaged, or of a size that is beyond the limits above or cannot be in so few bytes.

// From the header alone.
ImageSize image_size(std::span<const uint8_t> file);

bool is_jpeg(std::span<const uint8_t> file);

// Grey images and palettes become RGB; transparent pixels lie on black; 16 bits become 8.
// A JPEG may be decoded at 1 / `reduce` of its size (1, 2, 4 or 8; rounded up), which costs less
// than decoding all and is as good as averaging; a PNG is then still decoded whole.
void decode_image(std::span<const uint8_t> file, int reduce, RgbImage& image);

// The two formats, for image_decode.cpp.
ImageSize jpeg_size(std::span<const uint8_t> file);
void decode_jpeg(std::span<const uint8_t> file, int reduce, RgbImage& image);
ImageSize png_size(std::span<const uint8_t> file);
void decode_png(std::span<const uint8_t> file, RgbImage& image);

// Throws unless `size` is within the limits and `bytes` of a file can hold so many pixels, each of
// them of 1 / `pixels_a_byte` of a byte or more.
void check_image_size(ImageSize size, size_t bytes, int64_t pixels_a_byte);

}  // namespace spire::inline data
