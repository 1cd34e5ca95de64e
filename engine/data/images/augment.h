// From stored pixels to what a model reads: random crop, horizontal flip, colours, normalization.
// What happens to a sample is a function of (seed, epoch, sample), so there is no state and any
// thread prepares any sample.
#pragma once
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

// Writes normalized images of one shape and dtype. Immutable, so any thread may use it.
class ImageWriter {
 public:
  // shape (H, W, C) of the images. dtype f32, bf16 or f16; or u8: pixels as they are, which goes
  // without augmentation. Throws Error(config) for a crop that could leave nothing of an image, and
  // for changes of colour where there is none.
  ImageWriter(const Shape& shape, const Normalization& normalization, DType dtype,
              const AugmentConfig& options, uint64_t seed);

  // pixels (H, W, C) -> out (H, W, C) of dtype.
  void write(const uint8_t* pixels, int64_t epoch, int64_t sample, void* out) const;
  size_t image_bytes() const;  // of out

 private:
  template <typename T>
  void write_as(const uint8_t* pixels, int64_t epoch, int64_t sample, const T* table, T* out) const;

  int64_t height_, width_, channels_;
  DType dtype_;
  AugmentConfig options_;
  uint64_t seed_;
  // (C, 256) of dtype_: the normalized value of each pixel value. Empty for u8.
  std::vector<std::byte> table_;
  std::vector<uint8_t> identity_;  // (C, 256), when colours are changed
};

}  // namespace spire::inline data
