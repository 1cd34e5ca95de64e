// Augments images at random, as a function of (seed, epoch, sample) alone, and normalizes them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/sample.h"

namespace spire::inline data {

// A translation and flip: output pixel (y, x) is input pixel (y + dy, x' + dx), where
// x' = flip ? W - 1 - x : x. Pixels outside of the image have the value 0 before normalization.
struct ImageTransform {
  int64_t dy = 0, dx = 0;  // pixels, in [-crop, crop]; crop is AugmentConfig::crop
  bool flip = false;
};

ImageTransform image_transform(const AugmentConfig& options, uint64_t seed, int64_t epoch,
                               int64_t sample);

// Factors f of torchvision's ColorJitter for pixel values v; integers, alike on every machine.
struct ColorFactors {
  static constexpr int32_t one = 1 << 16;  // f = 1, which changes nothing
  int32_t brightness = one;                // f * v
  int32_t contrast = one;                  // gray + f * (v - gray), gray: mean gray of the image
  int32_t saturation = one;                // gray + f * (v - gray), gray: that of the pixel
};

// Returns the part of `options` that moves pixels and changes no colors: what happens to the target
// of an image. The draws are keyed, so both of a pair move alike.
AugmentConfig geometric_part(const AugmentConfig& options);

// Draws the factors, each uniform in [max(0, 1 - strength), 1 + strength] with its own strength.
ColorFactors color_factors(const ColorJitterConfig& config, uint64_t seed, int64_t epoch,
                           int64_t sample);

// Applies factors to pixels (H, W, C), C = 1 or 3. Gray is 0.299 R + 0.587 G + 0.114 B, rounded.
void change_colors(const ColorFactors& factors, int64_t channels, std::span<uint8_t> pixels);

// Writes augmented, normalized images of one shape and dtype, or masks. Immutable, hence
// thread-safe.
class ImageWriter {
 public:
  // shape: (H, W, C). dtype: f32, bf16, f16; or u8, which copies and REQUIRES no augmentation.
  // Throws Error(config) if crop >= min(H, W), or the channels do not suit the color jitter.
  ImageWriter(const Shape& shape, const Normalization& normalization, DType dtype,
              const AugmentConfig& options, uint64_t seed);

  // For masks (H, W): pixel value v becomes classes[v], i32. outside: value of pixels that lie
  // outside of the mask. REQUIRES: options == geometric_part(options).
  ImageWriter(const Shape& shape, const std::array<int32_t, 256>& classes, uint8_t outside,
              const AugmentConfig& options, uint64_t seed);

  // Converts pixels (H, W, C) to `out` (H, W, C) of dtype.
  void write(const uint8_t* pixels, int64_t epoch, int64_t sample, void* out) const;
  size_t image_bytes() const;  // size of `out`

 private:
  template <typename T>
  void write_as(const uint8_t* pixels, int64_t epoch, int64_t sample, const T* table, T* out) const;

  int64_t height_, width_, channels_;
  DType dtype_;
  AugmentConfig options_;
  uint64_t seed_;
  uint8_t outside_ = 0;            // value of pixels outside of the image
  std::vector<std::byte> table_;   // (C, 256) of dtype_: the normalized value of each pixel value
  std::vector<uint8_t> identity_;  // with color jitter: (C, 256), a table that keeps pixel values
};

}  // namespace spire::inline data
