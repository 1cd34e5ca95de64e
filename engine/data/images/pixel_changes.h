// Changes of the colors and places of an image's pixels, in integers: alike on every machine.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include <spire/run_config.h>

#include "engine/data/images/image_formats.h"

namespace spire {

// Changes of the pixel values of images (H, W, C), C = 1 or 3. The definitions are those of Pillow
// and torchvision; where these cut off, results are rounded.

// Factors f of torchvision's ColorJitter for pixel values v.
struct ColorFactors {
  static constexpr int32_t one = 1 << 16;  // f = 1, which changes nothing
  int32_t brightness = one;                // f * v
  int32_t contrast = one;                  // gray + f * (v - gray), gray: mean gray of the image
  int32_t saturation = one;                // gray + f * (v - gray), gray: that of the pixel
};

// Draws the factors, each uniform in [max(0, 1 - strength), 1 + strength] with its own strength.
ColorFactors color_factors(const ColorJitterConfig& config, uint64_t seed, int64_t epoch,
                           int64_t sample);

// Applies factors. Gray is 0.299 R + 0.587 G + 0.114 B, rounded. Gray images have no saturation.
void change_colors(const ColorFactors& factors, int64_t channels, std::span<uint8_t> pixels);

// Stretches each channel, so that its values reach from 0 to 255.
void stretch_contrast(int64_t channels, std::span<uint8_t> pixels);

// Makes the values of each channel about equally frequent.
void equalize(int64_t channels, std::span<uint8_t> pixels);

// Inverts values from `threshold` on; v becomes 255 - v.
void solarize(double threshold, std::span<uint8_t> pixels);

// Keeps the upper `bits` of each value, 0 to 8.
void posterize(int bits, std::span<uint8_t> pixels);

// out = smooth + f * (v - smooth), f in units of 1 / ColorFactors::one; smooth: the mean of the 3 x
// 3 pixels around each, in which the middle counts 5 times. Pixels at the edge stay. `out` is
// another image than `from`.
void sharpen(int32_t factor, ImageSize size, int64_t channels, const uint8_t* from, uint8_t* out);

// Affine maps of images: rotation, shear, scaling, translation.

// The parts of a map, applied about a point in this order: shear, rotation, scaling, translation.
struct AffineParts {
  double rotate = 0;                  // degrees, clockwise
  double shear_x = 0, shear_y = 0;    // degrees: rows, columns of pixels are shifted in parallel
  double scale = 1;                   // factor, above 0
  double move_x = 0, move_y = 0;      // pixels, to the right and down
  double center_x = 0, center_y = 0;  // the point, in pixels from the upper left corner
};

// Where output pixels come from, in units of 2^-16 pixels: the middle of output pixel (0, 0) is at
// (x, y) of the input, one to the right at (x + right_x, y + right_y), one down at (x + down_x, y +
// down_y).
struct AffineMap {
  int64_t x, y, right_x, right_y, down_x, down_y;
};

// Returns the inverse of the map, as torchvision.transforms.functional.affine has it.
AffineMap affine_map(const AffineParts& parts);

// Draws the parts, each uniform within its bounds, about the middle of the image.
AffineParts random_affine(const AffineConfig& config, ImageSize size, uint64_t seed, int64_t epoch,
                          int64_t sample);

enum class Interpolation { nearest, bilinear };  // of pixels between input pixels

// Writes the mapped image, `out` (H, W, C), of `from` (H, W, C), which has the value `outside`
// beyond its edges, or without one that of the nearest pixel. Integers give the same pixels on
// every machine.
void warp(const AffineMap& map, ImageSize size, int64_t channels, Interpolation interpolation,
          const uint8_t* from, uint8_t* out, std::optional<uint8_t> outside = 0);

}  // namespace spire
