// Normalization by the root mean square of the last axis (Zhang and Sennrich, "Root Mean Square
// Layer Normalization", 2019). For each row:
//   rstd = 1 / sqrt(sum x^2 / C + epsilon)    xhat = x rstd
//   y = gamma xhat    dx = rstd (g - xhat mean(g xhat)), g = gamma dy
// and over all rows dgamma = sum dy xhat. x, y (.., C) are fp32, bf16 or fp16, in M rows; gamma
// (C), rstd (M) and the computation are fp32.
#pragma once
#include <spire/op.h>

namespace spire::inline kernels {

struct RmsNormAttributes {
  float epsilon = 1e-5f;
};

// inputs: x, gamma. outputs: y, rstd.
class RmsNormOp : public OpWith<RmsNormAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "rms_norm"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int index) const override { return index == 0; }
};

// inputs: dy, x, gamma, rstd. outputs: dx, dgamma, summed in a fixed order.
class RmsNormBackwardOp : public Op {
 public:
  std::string_view name() const override { return "rms_norm_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool may_overwrite(int index) const override { return index == 0 || index == 1; }
};

}  // namespace spire::inline kernels
