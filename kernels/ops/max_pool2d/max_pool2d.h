// Maximum over a window of (N, H, W, C), channel by channel, and its gradient:
//   y[n,i,j,c] = max over taps (r, s) of x[n, i*stride - padding + r, ..., c], without padding
// which[n,i,j,c] = r * kernel.w + s for the tap of the maximum, the first one if several are equal;
// a NaN counts as the maximum.
#pragma once
#include "kernels/window.h"

namespace spire {

struct MaxPool2dAttributes {
  Extent2d kernel{2, 2};  // at most 256 taps
  Extent2d stride = kernel;
  Extent2d padding{0, 0};
  Window window() const { return {kernel, stride, padding, {1, 1}}; }
};

// inputs: x. outputs: y (N, OH, OW, C) of x's dtype; `which`, uint8, of y's shape.
class MaxPool2dOp : public OpWith<MaxPool2dAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "max_pool2d"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy, which. outputs: dx, like `x`: the sum of dy over the windows of which the pixel is
// the maximum.
class MaxPool2dBackwardOp : public OpWith<MaxPool2dAttributes> {
 public:
  MaxPool2dBackwardOp(MaxPool2dAttributes attributes, TensorSpec x) : OpWith(attributes), x_(x) {}

  std::string_view name() const override { return "max_pool2d_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;

 private:
  TensorSpec x_;
};

}  // namespace spire
