// Convolution (cross-correlation) over (N,H,W,C), and its gradient:
//   y[n,i,j,o] = b[o] + sum_{r,s,c} x[n, i*stride - padding + r*dilation, ..., c] w[o,c,r,s]
// x (N,H,W,C) fp32 or bf16, w (O, C/groups, KH, KW) fp32 parameter, b (O) fp32 parameter or absent;
// y (N,OH,OW,O) of x's dtype, summed in fp32. Output channels o and input channels of one group of
// `groups` meet; groups == C is the depthwise case.
#pragma once
#include "kernels/kernel.h"
#include "kernels/window.h"

namespace spire::inline kernels {

struct Conv2dAttributes {
  Extent2d stride{1, 1};
  Extent2d padding{0, 0};  // zeros on both sides
  Extent2d dilation{1, 1};
  int64_t groups = 1;
  bool bias = false;
  bool relu = false;
};

// Inputs x, w and b if `bias`; output y, through a relu if `relu`.
class Conv2dOp : public Op {
 public:
  explicit Conv2dOp(Conv2dAttributes attributes = {}) : attributes_(attributes) {}
  const Conv2dAttributes& attributes() const { return attributes_; }

  std::string_view name() const override { return "conv2d"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  int64_t multiply_adds(std::span<const TensorSpec> inputs,
                        std::span<const TensorSpec> outputs) const override;
  void gradient(GradientBuilder& builder) const override;
  std::unique_ptr<Op> with_relu() const override;

 private:
  Conv2dAttributes attributes_;
};

// Inputs dy (before the relu), w; output dx, which is like `x`.
class Conv2dBackwardDataOp : public Op {
 public:
  Conv2dBackwardDataOp(Conv2dAttributes attributes, TensorSpec x)
      : attributes_(attributes), x_(x) {}
  const Conv2dAttributes& attributes() const { return attributes_; }

  std::string_view name() const override { return "conv2d_backward_data"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  int64_t multiply_adds(std::span<const TensorSpec> inputs,
                        std::span<const TensorSpec> outputs) const override;

 private:
  Conv2dAttributes attributes_;
  TensorSpec x_;
};

// Inputs x, dy; outputs dw (the shape of w) and db (O) if `bias`: fp32, summed over N, OH, OW.
class Conv2dBackwardWeightsOp : public Op {
 public:
  Conv2dBackwardWeightsOp(Conv2dAttributes attributes, Shape w) : attributes_(attributes), w_(w) {}
  const Conv2dAttributes& attributes() const { return attributes_; }

  std::string_view name() const override { return "conv2d_backward_weights"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  int64_t multiply_adds(std::span<const TensorSpec> inputs,
                        std::span<const TensorSpec> outputs) const override;

 private:
  Conv2dAttributes attributes_;
  Shape w_;
};

std::unique_ptr<Kernel> make_conv2d_cpu(const Op& op, const KernelRequest& request);
std::unique_ptr<Kernel> make_conv2d_backward_data_cpu(const Op& op, const KernelRequest& request);
std::unique_ptr<Kernel> make_conv2d_backward_weights_cpu(const Op& op,
                                                         const KernelRequest& request);
std::unique_ptr<Kernel> make_conv2d_cuda(const Op& op, const KernelRequest& request);
std::unique_ptr<Kernel> make_conv2d_backward_data_cuda(const Op& op, const KernelRequest& request);
std::unique_ptr<Kernel> make_conv2d_backward_weights_cuda(const Op& op,
                                                          const KernelRequest& request);

}  // namespace spire::inline kernels
