// Layer normalization over the last axis (Ba et al., "Layer Normalization", 2016). For each row:
//   rstd = 1 / sqrt(sum (x - mean)^2 / C + epsilon)    xhat = (x - mean) rstd
//   y = gamma xhat + beta    dx = rstd (g - mean(g) - xhat mean(g xhat)), g = gamma dy
// and over all rows dgamma = sum dy xhat, dbeta = sum dy. x, y (.., C) are fp32, bf16 or fp16, in M
// rows; gamma, beta (C), mean, rstd (M) and the computation are fp32.
#pragma once
#include <spire/op.h>

namespace spire::inline kernels {

struct LayerNormAttributes {
  float epsilon = 1e-5f;
};

// inputs: x, gamma, beta. outputs: y, mean, rstd.
class LayerNormOp : public OpWith<LayerNormAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "layer_norm"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int index) const override { return index == 0; }
};

// inputs: dy, x, gamma, mean, rstd. outputs: dx, dgamma, dbeta, summed in a fixed order.
class LayerNormBackwardOp : public Op {
 public:
  std::string_view name() const override { return "layer_norm_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool may_overwrite(int index) const override { return index == 0 || index == 1; }
};

}  // namespace spire::inline kernels
