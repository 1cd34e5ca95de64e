// Pooling of (N, H, W, C). Average over a window or over all pixels, and its gradient; each channel
// is summed on its own, in fp32. `count` is the number of taps (pixels) of the window; with
// count_include_pad = false, of those that lie on x:
//   y[n,i,j,c] = sum over taps (r, s) of x[n, i*stride - padding + r, ..., c] / count
//   y[n,c] = sum_{h,w} x[n,h,w,c] / (H W)        dx[n,h,w,c] = dy[n,c] / (H W)
// Maximum over a window, channel by channel, and its gradient:
//   y[n,i,j,c] = max over taps (r, s) of x[n, i*stride - padding + r, ..., c], without padding
// which[n,i,j,c] = r * kernel.w + s for the tap of the maximum, the first one if several are equal;
// a NaN counts as the maximum.
#pragma once
#include "kernels/window.h"

namespace spire {

struct AvgPool2dAttributes {
  Extent2d kernel{2, 2};
  Extent2d stride = kernel;
  Extent2d padding{0, 0};
  bool count_include_pad = true;
  Window window() const { return {kernel, stride, padding, {1, 1}}; }
};

// inputs: x. outputs: y (N, OH, OW, C) of x's dtype.
class AvgPool2dOp : public OpWith<AvgPool2dAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "avg_pool2d"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy. outputs: dx, like `x`: the sum of dy / count over the windows that cover a pixel.
class AvgPool2dBackwardOp : public OpWith<AvgPool2dAttributes> {
 public:
  AvgPool2dBackwardOp(AvgPool2dAttributes attributes, TensorSpec x) : OpWith(attributes), x_(x) {}

  std::string_view name() const override { return "avg_pool2d_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;

 private:
  TensorSpec x_;
};

// inputs: x (N, H, W, C). outputs: y (N, C) of x's dtype.
class GlobalAvgPoolOp : public Op {
 public:
  std::string_view name() const override { return "global_avg_pool"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy (N, C). outputs: dx, like `x`.
class GlobalAvgPoolBackwardOp : public Op {
 public:
  explicit GlobalAvgPoolBackwardOp(TensorSpec x) : x_(x) {}
  std::string_view name() const override { return "global_avg_pool_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;

 private:
  TensorSpec x_;
};

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
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy, which. outputs: dx, like `x`: the sum of dy over the windows of which the pixel is
// the maximum.
class MaxPool2dBackwardOp : public OpWith<MaxPool2dAttributes> {
 public:
  MaxPool2dBackwardOp(MaxPool2dAttributes attributes, TensorSpec x) : OpWith(attributes), x_(x) {}

  std::string_view name() const override { return "max_pool2d_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;

 private:
  TensorSpec x_;
};

}  // namespace spire
