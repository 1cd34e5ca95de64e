// Batch normalization over all axes but the last (Ioffe & Szegedy, "Batch Normalization", 2015).
// For each channel c, over n = elements / C rows:
//   mean = sum x / n    var = sum (x - mean)^2 / n    inv_std = 1 / sqrt(var + epsilon)
//   xhat = (x - mean) inv_std    y = gamma xhat + beta [+ residual] [through relu]
// Its gradient, with g = dy, masked by y > 0 behind a relu:
//   dbeta = sum g    dgamma = sum g xhat    dx = gamma inv_std (g - dbeta / n - xhat dgamma / n)
// x, residual, y (..., C) fp32 or bf16; gamma, beta, statistics and their gradients (C) fp32.
//
// The plain ops take n and the sums over the rows of one tower. The sync ops take them over all
// towers: a tower's sums leave it as one fp64 vector, TowerSumOp adds the vectors, and the second
// pass reads the total:
//   x -> batch_norm_moments -> tower_sum -> batch_norm_sync -> y
//   dy -> batch_norm_gradient_sums -> tower_sum -> batch_norm_sync_backward -> dx
// With one tower the bits are those of the plain ops.
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
// is 1); a running average sums both over the towers.
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
// mask tells where the relu was open. With a residual it is y, and dresidual = g is an output.
// Without one it is beta, and the kernel computes y > 0 from x, which saves reading y twice.
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

// inputs: x (..., C). outputs: (2 C + 1) fp64: sum x and sum x^2 of each channel, the rows.
class BatchNormMomentsOp : public Op {
 public:
  std::string_view name() const override { return "batch_norm_moments"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
};

// inputs: x, gamma, beta, moments over all towers [, residual].
// outputs: y, mean, inv_std, stat_mean, stat_var, as of BatchNormOp.
// Its gradient is that of the whole chain: x receives all of it, the moments receive none.
class BatchNormSyncOp : public OpWith<BatchNormAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "batch_norm_sync"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int index) const override { return index == 0 || index == 4; }
  std::unique_ptr<Op> with_relu() const override;
  std::unique_ptr<Op> with_residual() const override;
};

// inputs: dy, x, gamma, mean, inv_std [, mask], as of BatchNormBackwardOp.
// outputs: sums (2 C + 1) fp64: dbeta and dgamma of each channel, the rows; dgamma, dbeta fp32, of
// this tower as the sums are; with relu and residual also dresidual = g.
class BatchNormGradientSumsOp : public OpWith<BatchNormAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "batch_norm_gradient_sums"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
};

// inputs: dy, x, gamma, mean, inv_std, sums over all towers [, beta]. outputs: dx.
// With a relu and no residual beta masks dy; with both, dy is the g of BatchNormGradientSumsOp.
class BatchNormSyncBackwardOp : public OpWith<BatchNormAttributes> {
 public:
  using OpWith::OpWith;
  bool masks() const { return attributes_.relu && !attributes_.residual; }

  std::string_view name() const override { return "batch_norm_sync_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool may_overwrite(int index) const override { return index == 0 || index == 1; }
};

}  // namespace spire::inline kernels
