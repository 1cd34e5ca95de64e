// What the pixel values of masks mean: classes, or pixels without one.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <spire/run_config.h>

namespace spire::inline data {

class MaskValues {
 public:
  static constexpr int32_t unlabelled = -1, invalid = -2;

  // classes: in [1, 255]. With 2 classes and no ignore label 255 is class 1: a black and white
  // mask. Throws Error(config) if the ignore label is a class.
  MaskValues(int64_t classes, int64_t ignore_label);

  // (256): the class of each pixel value, `unlabelled` or `invalid`.
  const std::array<int32_t, 256>& classes() const { return classes_; }

  // Value of pixels that lie outside of a mask: the ignore label, or class 0 without one.
  uint8_t outside() const { return outside_; }

  // Throws Error(data) for the first pixel of a mask (H, W) that is `invalid`.
  void check(std::span<const uint8_t> mask, int64_t width) const;

 private:
  int64_t count_;
  int64_t ignore_label_;
  std::array<int32_t, 256> classes_{};
  uint8_t outside_;
};

}  // namespace spire::inline data
