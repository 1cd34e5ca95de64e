// Mean over a window of (N,H,W,C), channel by channel, and its gradient:
//   y[n,i,j,c] = sum over taps (r, s) of x[n, i*stride - padding + r, ..., c] / count
// count is the kernel's taps, or with count_include_pad = false those that lie on x. Summed in
// fp32.
#pragma once
#include "kernels/window.h"

namespace spire::inline kernels {

struct AvgPool2dAttributes {
  Extent2d kernel{2, 2};
  Extent2d stride = kernel;
  Extent2d padding{0, 0};
  bool count_include_pad = true;
  Window window() const { return {kernel, stride, padding, {1, 1}}; }
};

// inputs: x. outputs: y (N,OH,OW,C) of x's dtype.
class AvgPool2dOp : public OpWith<AvgPool2dAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "avg_pool2d"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy. outputs: dx, like `x`: the sum of dy / count over the windows that cover a pixel.
class AvgPool2dBackwardOp : public OpWith<AvgPool2dAttributes> {
 public:
  AvgPool2dBackwardOp(AvgPool2dAttributes attributes, TensorSpec x) : OpWith(attributes), x_(x) {}

  std::string_view name() const override { return "avg_pool2d_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;

 private:
  TensorSpec x_;
};

}  // namespace spire::inline kernels
