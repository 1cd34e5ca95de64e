// From stored pixels to what a model reads: random crop, horizontal flip, normalisation. What
// happens to a sample is a function of (seed, epoch, sample), so there is no state and any thread
// prepares any sample.
#pragma once
#include <spire/base/dtype.h>
#include <spire/data/dataset.h>

#include <cstdint>
#include <vector>

namespace spire {

struct AugmentOptions {
  int64_t crop = 0;   // pixels of zero padding on each side, then a crop of the original size
  bool flip = false;  // mirror left and right with probability 1/2
};

// Output pixel (y, x) is input pixel (y + dy, x' + dx), x' = flip ? W - 1 - x : x; pixels outside
// of the image have the value 0 before normalisation.
struct ImageTransform {
  int64_t dy = 0, dx = 0;  // in [-crop, crop]
  bool flip = false;
};

ImageTransform image_transform(const AugmentOptions& options, uint64_t seed, int64_t epoch,
                               int64_t sample);

// Writes normalised images of one shape and dtype. Immutable, so any thread may use it.
class ImageWriter {
 public:
  // Shape of the images: that of `dataset`. dtype f32 or bf16. Throws Error(config) for a crop that
  // could leave nothing of an image.
  ImageWriter(const Dataset& dataset, const Normalization& normalization, DType dtype,
              const AugmentOptions& options, uint64_t seed);

  // pixels (H, W, C) -> out (H, W, C) of dtype.
  void write(const uint8_t* pixels, int64_t epoch, int64_t sample, void* out) const;
  size_t image_bytes() const;  // of out

 private:
  int64_t height_, width_, channels_;
  DType dtype_;
  AugmentOptions options_;
  uint64_t seed_;
  // (C, 256): the normalised value of each pixel value; the one of dtype_ is filled.
  std::vector<float> f32_table_;
  std::vector<bfloat16> bf16_table_;
};

}  // namespace spire
