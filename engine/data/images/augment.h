// Augments images at random, as a function of (seed, epoch, sample) alone, and normalizes them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/sample.h"

namespace spire {

// What a moved image has beyond its edges: black, which is 0 before normalization, or the nearest
// pixels. An image with a target image takes `edges`: black in both would teach the model that
// black stays black.
enum class Outside { black, edges };

// A translation and flip: output pixel (y, x) is input pixel (y + dy, x' + dx), where
// x' = flip ? W - 1 - x : x.
struct ImageTransform {
  int64_t dy = 0, dx = 0;  // pixels, in [-crop, crop]; crop is AugmentConfig::crop
  bool flip = false;
};

ImageTransform image_transform(const AugmentConfig& options, uint64_t seed, int64_t epoch,
                               int64_t sample);

// Returns whether the options change the pixels of single images.
bool changes_pixels(const AugmentConfig& options);

// Returns the options that move pixels, without those that change colors: they apply to the target
// of an image, too. Random draws are keyed by sample and epoch, so image and target move alike.
AugmentConfig geometric_part(const AugmentConfig& options);

// Throws Error(config) if `options` change an image in ways that its target image or mask cannot
// follow.
void require_targets_follow(const AugmentConfig& options);

// What the pixel values of masks mean: a class, a pixel without a class, or an error.
class MaskValues {
 public:
  static constexpr int32_t unlabelled = -1, invalid = -2;

  // With 2 classes and no ignore label 255 is class 1: a black and white mask. Throws Error(data)
  // unless there are 2 to 255 classes, Error(config) if the ignore label is one of them.
  MaskValues(int64_t classes, int64_t ignore_label);

  // (256): the class of each pixel value, `unlabelled` or `invalid`.
  const std::array<int32_t, 256>& classes() const { return classes_; }

  // Value of pixels that lie outside of a mask, which is `unlabelled`: the ignore label, or without
  // one a value that no mask may have.
  uint8_t outside() const { return outside_; }

  // Throws Error(data) for the first pixel of a mask (H, W) that is neither a class nor the ignore
  // label.
  void check(std::span<const uint8_t> mask, int64_t width) const;

 private:
  int64_t count_;
  int64_t ignore_label_;
  std::array<int32_t, 256> classes_{};
  uint8_t outside_ = 0;
};

// Returns the number of classes of masks: the largest pixel value except ignore_label, + 1, but at
// least `so_far`, the result for the masks before.
int64_t count_mask_classes(std::span<const uint8_t> pixels, int64_t ignore_label, int64_t so_far);

// Writes augmented, normalized images of one shape and dtype, or masks. In this order: crop and
// flip, affine map, RandAugment, colors, normalization, erasing. Immutable, hence thread-safe.
class ImageWriter {
 public:
  // shape: (H, W, C). dtype: f32, bf16, f16; or u8, which copies and REQUIRES no augmentation.
  // Throws Error(config) if crop >= min(H, W), or the channels do not suit changes of colors.
  ImageWriter(const Shape& shape, const Normalization& normalization, DType dtype,
              const AugmentConfig& options, uint64_t seed, Outside outside = Outside::black);

  // For masks (H, W), whose pixels become their classes, i32. REQUIRES: options ==
  // geometric_part(options).
  ImageWriter(const Shape& shape, const MaskValues& values, const AugmentConfig& options,
              uint64_t seed);

  // Converts pixels (H, W, C) to `out` (H, W, C) of dtype.
  void write(const uint8_t* pixels, int64_t epoch, int64_t sample, void* out) const;
  size_t image_bytes() const;  // size of `out`

 private:
  template <typename T>
  void write_as(const uint8_t* pixels, int64_t epoch, int64_t sample, const T* table, T* out) const;
  template <typename T>
  void write_in_steps(const uint8_t* pixels, int64_t epoch, int64_t sample, const T* table,
                      T* out) const;
  template <typename T>
  void erase(int64_t epoch, int64_t sample, T* out) const;

  int64_t height_, width_, channels_;
  DType dtype_;
  AugmentConfig options_;
  uint64_t seed_;
  // Value of pixels outside of the image; nullopt: that of the nearest one.
  std::optional<uint8_t> outside_ = 0;
  std::vector<std::byte> table_;   // (C, 256) of dtype_: the normalized value of each pixel value
  std::vector<uint8_t> identity_;  // if pixels change in steps: (C, 256), which keeps pixel values
};

}  // namespace spire
