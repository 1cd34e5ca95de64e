// Convolution (cross-correlation) over (N, H, W, C), and its gradient:
//   y[n,i,j,o] = b[o] + sum_{r,s,c} x[n, i*stride - padding + r*dilation, ..., c] w[o,c,r,s]
// x (N, H, W, C) fp32, bf16 or fp16; w (O, C/groups, KH, KW), b (O) fp32 parameters; y (N, OH, OW,
// O) of x's dtype, summed in fp32 over the input channels of o's group (groups == C: depthwise).
#pragma once
#include "kernels/window.h"

namespace spire {

struct Conv2dAttributes {
  Extent2d stride{1, 1};
  Extent2d padding{0, 0};  // zeros on both sides
  Extent2d dilation{1, 1};
  int64_t groups = 1;
  bool bias = false;
  bool relu = false;
};

// Inputs: x, w, and b if `bias`. Output: y, through a relu if `relu`.
class Conv2dOp : public OpWith<Conv2dAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "conv2d"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;
  void gradient(GradientBuilder& builder) const override;
  std::unique_ptr<Op> with_relu() const override;
};

// Inputs: dy (the gradient of y before the relu), w. Output: dx, which is like `x`.
class Conv2dBackwardDataOp : public OpWith<Conv2dAttributes> {
 public:
  Conv2dBackwardDataOp(Conv2dAttributes attributes, TensorSpec x) : OpWith(attributes), x_(x) {}

  std::string_view name() const override { return "conv2d_backward_data"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;

 private:
  TensorSpec x_;
};

// Inputs: x, dy. Outputs: dw (the shape of w), and db (O) if `bias`; both fp32.
class Conv2dBackwardWeightsOp : public OpWith<Conv2dAttributes> {
 public:
  Conv2dBackwardWeightsOp(Conv2dAttributes attributes, Shape w) : OpWith(attributes), w_(w) {}

  std::string_view name() const override { return "conv2d_backward_weights"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;

 private:
  Shape w_;
};

// Transposed convolution, the data gradient of a convolution (Zeiler et al., "Deconvolutional
// Networks", 2010):
//   y[n,p,q,o] = sum of x[n,i,j,c] w[c,o,r,s] over all i, j, r, s, c with
//   i*stride - padding + r*dilation = p and j*stride - padding + s*dilation = q
// x (N, H, W, I) fp32, bf16 or fp16, w (I, O/groups, KH, KW) fp32 parameter (PyTorch's layout), y
// (N, OH, OW, O) of x's dtype, OH = (H - 1)*stride - 2 padding + dilation*(KH - 1) + output_padding
// + 1.
struct ConvTranspose2dAttributes {
  Extent2d stride{1, 1};
  Extent2d padding{0, 0};         // rows and columns cut off on both sides
  Extent2d output_padding{0, 0};  // rows and columns more at the end; less than the stride
  Extent2d dilation{1, 1};
  int64_t groups = 1;

  Conv2dAttributes convolution() const {  // the one that maps y to x
    return {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups};
  }
};

// Inputs: x, w. Output: y.
class ConvTranspose2dOp : public OpWith<ConvTranspose2dAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "conv_transpose2d"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

}  // namespace spire
