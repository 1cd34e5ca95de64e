// Brightness, contrast and saturation of an image changed by random factors, as torchvision's
// ColorJitter does, in this order and in integers, so that every machine gives the same pixels.
#pragma once
#include <span>

#include <spire/run_config.h>

namespace spire::inline data {

// In units of 1 / 65536; 65536 leaves the image as it is.
struct ColorFactors {
  static constexpr int32_t one = 1 << 16;
  int32_t brightness = one;  // v x factor
  int32_t contrast = one;    // between the mean grey of the image (0) and v (1)
  int32_t saturation = one;  // between the grey of the pixel (0) and v (1)
};

// Uniform in [max(0, 1 - strength), 1 + strength], a function of (seed, epoch, sample).
ColorFactors color_factors(const ColorJitterConfig& config, uint64_t seed, int64_t epoch,
                           int64_t sample);

// pixels (H, W, C), C of 1 or 3, in place. Grey is 0.299 R + 0.587 G + 0.114 B, rounded; with one
// channel, the pixel itself.
void change_colors(const ColorFactors& factors, int64_t channels, std::span<uint8_t> pixels);

}  // namespace spire::inline data
