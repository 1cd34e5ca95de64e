// Changes of the colors and places of an image's pixels, in integers: alike on every machine.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

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

// Maps `from` (H, W, C) to `out` (H, W, C). outside: value beyond the edges of `from`; nullopt:
// that of the nearest pixel. Integers give the same pixels on every machine.
void warp(const AffineMap& map, ImageSize size, int64_t channels, Interpolation interpolation,
          const uint8_t* from, uint8_t* out, std::optional<uint8_t> outside = 0);

// RandAugment: changes an image by ops drawn at random, all of one strength. Cubuk et al.,
// "RandAugment: Practical automated data augmentation with a reduced search space", 2020; ops and
// strengths as in torchvision.transforms.RandAugment.

enum class ImageOp {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  autocontrast,
  equalize
};

inline constexpr uint32_t image_op_count = 14;

// An image (H, W, C) that is changed, and memory of its size for the next version of it.
struct ImageVersions {
  ImageSize size;
  int64_t channels;
  uint8_t *now, *next;

  void renew() { std::swap(now, next); }
  std::span<uint8_t> pixels() const {
    return {now, static_cast<size_t>(size.height * size.width * channels)};
  }
};

// Applies one op to an image of 1 or 3 channels. magnitude: 0 to 30, the strength of most ops.
// negative: turns, shifts, shears the other way, or reduces instead of raising. Translation is by
// up to 150 / 331 of the side, rotation up to 30 degrees, shear up to 0.3, the factor of colors
// from 0.1 to 1.9; solarize inverts from 255 - 8.5 x magnitude on, posterize keeps 8 bits to 4.
void apply(ImageOp op, double magnitude, bool negative, ImageVersions& image);

// Applies config.count ops, a function of (config, seed, epoch, sample) and the image.
void rand_augment(const RandAugmentConfig& config, uint64_t seed, int64_t epoch, int64_t sample,
                  ImageVersions& image);

// Random erasing: a rectangle of an image is blanked. Zhong, Zheng, Kang, Li, Yang: "Random Erasing
// Data Augmentation", 2020.

struct Rectangle {  // in whole pixels
  int64_t top = 0, left = 0, height = 0, width = 0;
};

// Draws a rectangle with a share of the area of min_share to max_share and an aspect ratio of 0.3
// to 3.3, as torchvision.transforms.RandomErasing does: ten attempts to find one that fits. It is
// empty where nothing is erased. A function of all its arguments.
Rectangle erased_rectangle(const EraseConfig& config, ImageSize size, uint64_t seed, int64_t epoch,
                           int64_t sample);

}  // namespace spire
