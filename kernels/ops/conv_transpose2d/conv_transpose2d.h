// Transposed convolution over (N,H,W,C): what the gradient of a convolution does to its output.
//   y[n,p,q,o] = sum of x[n,i,j,c] w[c,o,r,s] over all (i, j, r, s, c) with
//                p = i*stride - padding + r*dilation, likewise q
// x (N,H,W,I) fp32 or bf16, w (I, O/groups, KH, KW) fp32 parameter (PyTorch's layout), y
// (N,OH,OW,O) of x's dtype, summed in fp32:
//   OH = (H - 1)*stride - 2 padding + dilation*(KH - 1) + output_padding + 1
// It is the data gradient of conv2d with the same weights, so its own gradients are conv2d and the
// weight gradient of conv2d. (Zeiler et al., "Deconvolutional Networks", 2010.)
#pragma once
#include "kernels/ops/conv2d/conv2d.h"

namespace spire::inline kernels {

struct ConvTranspose2dAttributes {
  Extent2d stride{1, 1};
  Extent2d padding{0, 0};         // rows and columns cut off on both sides
  Extent2d output_padding{0, 0};  // rows and columns more at the end; less than the stride
  Extent2d dilation{1, 1};
  int64_t groups = 1;

  // The convolution that takes y back to the shape of x.
  Conv2dAttributes convolution() const {
    return {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups};
  }
};

// Inputs x, w; output y.
class ConvTranspose2dOp : public OpWith<ConvTranspose2dAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "conv_transpose2d"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  int64_t multiply_adds(std::span<const TensorSpec> inputs,
                        std::span<const TensorSpec> outputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

}  // namespace spire::inline kernels
