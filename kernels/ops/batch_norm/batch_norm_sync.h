// Batch normalization with statistics over all towers: the formulas of batch_norm.h, where n and
// the sums run over the rows of every tower. A tower's sums leave it as one fp64 vector, TowerSumOp
// adds them up, and the second pass reads the total:
//   x -> batch_norm_moments -> tower_sum -> batch_norm_sync -> y
//   dy -> batch_norm_gradient_sums -> tower_sum -> batch_norm_sync_backward -> dx
// With one tower the bits are those of batch_norm.
#pragma once
#include "kernels/ops/batch_norm/batch_norm.h"

namespace spire::inline kernels {

// inputs: x (..., C). outputs: (2 C + 1) fp64: sum x and sum x^2 of each channel, the rows.
class BatchNormMomentsOp : public Op {
 public:
  std::string_view name() const override { return "batch_norm_moments"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
};

// inputs: x, gamma, beta, moments over all towers [, residual].
// outputs: y, mean, inv_std, stat_mean, stat_var, as of BatchNormOp.
// Its gradient is that of the whole chain: x gets all of it, the moments get none.
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
