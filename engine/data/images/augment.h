// Augments and normalizes images: random translation, flip and color jitter, drawn by (seed, epoch,
// sample), so that any thread prepares any sample.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/sample.h"

namespace spire::inline data {

// Output pixel (y, x) is input pixel (y + dy, x' + dx), x' = flip ? W - 1 - x : x; pixels outside
// of the image have the value 0 before normalization.
struct ImageTransform {
  int64_t dy = 0, dx = 0;  // in [-crop, crop]
  bool flip = false;
};

ImageTransform image_transform(const AugmentConfig& options, uint64_t seed, int64_t epoch,
                               int64_t sample);

// Factors of torchvision's ColorJitter, as integers: the same on every machine.
struct ColorFactors {
  static constexpr int32_t one = 1 << 16;  // 1.0: leaves the image as it is
  int32_t brightness = one;                // v x factor
  int32_t contrast = one;                  // between the mean gray of the image (0) and v (1)
  int32_t saturation = one;                // between the gray of the pixel (0) and v (1)
};

// Draws factors, uniform in [max(0, 1 - strength), 1 + strength].
ColorFactors color_factors(const ColorJitterConfig& config, uint64_t seed, int64_t epoch,
                           int64_t sample);

// Changes pixels (H, W, C) in place; C is 1 or 3. Gray is 0.299 R + 0.587 G + 0.114 B, rounded.
void change_colors(const ColorFactors& factors, int64_t channels, std::span<uint8_t> pixels);

// Writes normalized images of one shape and dtype. Immutable: any thread may use it.
class ImageWriter {
 public:
  // shape: (H, W, C). dtype: f32, bf16, f16; or u8, which copies pixels. Throws Error(config) for a
  // translation out of the image, and for augmentation that does not fit.
  ImageWriter(const Shape& shape, const Normalization& normalization, DType dtype,
              const AugmentConfig& options, uint64_t seed);

  // pixels (H, W, C) -> out (H, W, C) of dtype.
  void write(const uint8_t* pixels, int64_t epoch, int64_t sample, void* out) const;
  size_t image_bytes() const;  // of one `out`

 private:
  template <typename T>
  void write_as(const uint8_t* pixels, int64_t epoch, int64_t sample, const T* table, T* out) const;

  int64_t height_, width_, channels_;
  DType dtype_;
  AugmentConfig options_;
  uint64_t seed_;
  std::vector<std::byte> table_;   // (C, 256) of dtype_: normalized pixel values; empty for u8
  std::vector<uint8_t> identity_;  // (C, 256): pixel values; empty without color jitter
};

}  // namespace spire::inline data
