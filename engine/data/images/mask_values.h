// What the pixel values of masks mean: classes, or pixels without one.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <spire/run_config.h>

namespace spire {

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

// Returns the number of classes of masks: the largest pixel value + 1, the ignore label aside, or
// `so_far` if that is more, which those of other masks gave.
int64_t count_mask_classes(std::span<const uint8_t> pixels, int64_t ignore_label, int64_t so_far);

}  // namespace spire
