// Batch normalization over all axes but the last (Ioffe & Szegedy, "Batch Normalization", 2015).
// For each channel c, over the n = elements / C rows of the tower's batch:
//   mean = sum x / n    var = sum (x - mean)^2 / n    inv_std = 1 / sqrt(var + epsilon)
//   xhat = (x - mean) inv_std    y = gamma xhat + beta [+ residual] [through relu]
// Its gradient, with g = dy, masked by y > 0 behind a relu:
//   dbeta = sum g    dgamma = sum g xhat    dx = gamma inv_std (g - dbeta / n - xhat dgamma / n)
// x, residual, y (..., C) fp32 or bf16; gamma, beta, statistics and their gradients (C) fp32.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

struct BatchNormAttributes {
  float epsilon = 1e-5f;
  bool relu = false;
  bool residual = false;  // one more input, of x's shape, added before the relu
};

// inputs: x, gamma, beta [, residual]. outputs: y, mean, inv_std, stat_mean, stat_var.
// stat_mean = tower_weight * mean and stat_var = tower_weight * unbiased variance (n - 1; n when n
// is 1) are what a running average adds up over the towers.
class BatchNormOp : public OpWith<BatchNormAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "batch_norm"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int index) const override { return index == 0 || index == 3; }
  std::unique_ptr<Op> with_relu() const override;
  std::unique_ptr<Op> with_residual() const override;
};

// inputs: dy, x, gamma, mean, inv_std [, mask]. outputs: dx, dgamma, dbeta [, dresidual].
// mask says where the relu was open. With a residual it is y, and dresidual = g is an output;
// without one it is beta, and the mask is computed from x anew, which saves reading y twice.
class BatchNormBackwardOp : public OpWith<BatchNormAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "batch_norm_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool may_overwrite(int index) const override { return index == 0 || index == 1; }
};

// inputs: x, gamma, beta, running_mean, running_var [, residual]. outputs: y.
class BatchNormEvalOp : public OpWith<BatchNormAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "batch_norm_eval"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool may_overwrite(int index) const override { return index == 0 || index == 5; }
  std::unique_ptr<Op> with_relu() const override;
  std::unique_ptr<Op> with_residual() const override;
};

}  // namespace spire::inline kernels
