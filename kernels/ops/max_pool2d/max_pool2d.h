// Maximum over a window of (N,H,W,C), channel by channel, and its gradient:
//   y[n,i,j,c] = max over taps (r, s) of x[n, i*stride - padding + r, ..., c]
// Padding is never the maximum. which[n,i,j,c] = r * kernel.w + s of the maximum, the first of
// equal ones; a NaN under the window is the maximum.
#pragma once
#include "kernels/kernel.h"
#include "kernels/window.h"

namespace spire::inline kernels {

struct MaxPool2dAttributes {
  Extent2d kernel{2, 2};  // at most 256 taps
  Extent2d stride = kernel;
  Extent2d padding{0, 0};
  Window window() const { return {kernel, stride, padding, {1, 1}}; }
};

// inputs: x. outputs: y (N,OH,OW,C) of x's dtype, which uint8 of y's shape.
class MaxPool2dOp : public Op {
 public:
  explicit MaxPool2dOp(MaxPool2dAttributes attributes = {}) : attributes_(attributes) {}
  const MaxPool2dAttributes& attributes() const { return attributes_; }

  std::string_view name() const override { return "max_pool2d"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  MaxPool2dAttributes attributes_;
};

// inputs: dy, which. outputs: dx, like `x`: the sum of dy over the windows whose maximum it was.
class MaxPool2dBackwardOp : public Op {
 public:
  MaxPool2dBackwardOp(MaxPool2dAttributes attributes, TensorSpec x)
      : attributes_(attributes), x_(x) {}
  const MaxPool2dAttributes& attributes() const { return attributes_; }

  std::string_view name() const override { return "max_pool2d_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;

 private:
  MaxPool2dAttributes attributes_;
  TensorSpec x_;
};

std::unique_ptr<Kernel> make_max_pool2d_cpu(const Op& op, const KernelRequest& request);
std::unique_ptr<Kernel> make_max_pool2d_backward_cpu(const Op& op, const KernelRequest& request);
std::unique_ptr<Kernel> make_max_pool2d_cuda(const Op& op, const KernelRequest& request);
std::unique_ptr<Kernel> make_max_pool2d_backward_cuda(const Op& op, const KernelRequest& request);

}  // namespace spire::inline kernels
