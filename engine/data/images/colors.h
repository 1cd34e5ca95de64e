// Changes of the pixel values of images (H, W, C), C = 1 or 3, in integers: alike on every machine.
// The definitions are those of Pillow and torchvision; where these cut off, results are rounded.
#pragma once
#include <cstdint>
#include <span>

#include <spire/run_config.h>

#include "engine/data/images/image_decode.h"

namespace spire {

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

}  // namespace spire
