// A window that slides over the two middle axes of (N,H,W,C): what convolution and pooling share.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

struct Extent2d {
  int64_t h = 1, w = 1;
  bool operator==(const Extent2d&) const = default;
};
std::string to_string(Extent2d extent);        // "3x5"
std::string to_short_string(Extent2d extent);  // "2" where both are equal

struct Window {
  Extent2d kernel{1, 1};
  Extent2d stride{1, 1};
  Extent2d padding{0, 0};  // on both sides
  Extent2d dilation{1, 1};
};

// Positions of the window over an input of this extent:
//   out = floor((in + 2 padding - dilation (kernel - 1) - 1) / stride) + 1
// Throws Error(config) naming the op when an attribute is out of range or the window does not fit.
Extent2d slide(const Op& op, const Window& window, Extent2d input);

// What pooling over this window makes of x: (N,OH,OW,C) of its dtype. Padding is at most half the
// kernel, so that every window sees x. Throws Error(config).
TensorSpec pooled(const Op& op, const Window& window, const TensorSpec& x);

// x must be (N,H,W,C), fp32, bf16 or fp16. Throws Error(config).
void expect_nhwc(const Op& op, const TensorSpec& x);

inline Extent2d extent_of(const Shape& nhwc) {
  return {nhwc[1], nhwc[2]};
}

}  // namespace spire::inline kernels
