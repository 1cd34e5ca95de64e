// Batch normalization over all axes but the last (Ioffe & Szegedy, "Batch Normalization", 2015).
// For each channel c, over n = elements / C rows:
//   mean = sum x / n    var = sum (x - mean)^2 / n    inv_std = 1 / sqrt(var + epsilon)
//   xhat = (x - mean) inv_std    y = gamma xhat + beta [+ residual] [through relu]
// Its gradient, where g is dy, masked by y > 0 if there is a relu:
//   dbeta = sum g    dgamma = sum g xhat    dx = gamma inv_std (g - dbeta / n - xhat dgamma / n)
// x, residual, y (..., C) are fp32, bf16 or fp16; gamma, beta, statistics and their gradients (C)
// are fp32. The sums are over the n rows of one tower (one of the shares of a global batch) or,
// with `sync`, over all towers: one op makes each tower's sums, TowerSumOp adds them up, and the
// next op reads the total. With one tower both give the same bits:
//   x -> batch_norm_moments -> tower_sum -> batch_norm_sync -> y
//   dy -> batch_norm_gradient_sums -> tower_sum -> batch_norm_sync_backward -> dx
#pragma once
#include <cmath>
#include <type_traits>

#include <spire/op.h>
#include <spire/tensor.h>

namespace spire {

struct BatchNormAttributes {
  float epsilon = 1e-5f;
  bool relu = false;
  bool residual = false;  // one more input, of x's shape, added before the relu
  bool sync = false;      // one more input in training, the sums over all towers
  // Of the backward ops that write dresidual: one more input, the last; dy is its sum with input 0.
  bool two_gradients = false;
};

// How the backward masks dy: not, by y > 0 computed again from x, or by y > 0 of the stored y.
enum class ReluMask { none, from_x, from_y };

// Returns the mask of a backward with these attributes.
constexpr ReluMask first_mask(const BatchNormAttributes& attributes) {
  if (!attributes.relu) return ReluMask::none;
  return attributes.residual ? ReluMask::from_y : ReluMask::from_x;
}

// Returns the mask of the pass that writes dx: none after from_y, as the first pass has stored dy
// already masked (g).
constexpr ReluMask second_mask(ReluMask first) {
  return first == ReluMask::from_y ? ReluMask::none : first;
}

// inputs: x, gamma, beta, running_var [, moments of all towers] [, residual]. outputs: y, mean,
// inv_std, stat_mean = tower_weight * mean, stat_var = tower_weight * unbiased variance (sum of
// squares / (n - 1)). Summed over all towers, stat_mean and stat_var update the running averages. A
// single row has no variance: stat_var is then tower_weight * running_var, which leaves the average
// unchanged. With `sync`, gradient() emits the gradient of the whole chain: x receives all of it,
// the moments none.
class BatchNormOp : public OpWith<BatchNormAttributes> {
 public:
  using OpWith::OpWith;
  int residual_input() const { return attributes_.sync ? 5 : 4; }

  std::string_view name() const override {
    return attributes_.sync ? "batch_norm_sync" : "batch_norm";
  }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int index) const override { return index == 0 || index == residual_input(); }
  std::unique_ptr<Op> with_relu() const override;
  std::unique_ptr<Op> with_residual() const override;
};

// inputs: x (..., C). outputs: (2 C + 1) fp64: sum x and sum x^2 of each channel, number of rows.
class BatchNormMomentsOp : public Op {
 public:
  std::string_view name() const override { return "batch_norm_moments"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
};

// inputs: dy, x, gamma, mean, inv_std [, mask] [, second term of dy]. outputs: dx, dgamma, dbeta [,
// dresidual]. With a relu and a residual, mask is y, and dresidual = g is an output. With a relu
// alone, mask is beta: the kernel computes y > 0 again from x, which saves reading y. Else there is
// no mask. With `sync`, BatchNormGradientSumsOp runs first, and this op writes dx alone. inputs:
// dresidual of that op if it wrote one, else dy; x, gamma, mean, inv_std [, beta, with a relu
// alone], the sums of all towers. outputs: dx.
class BatchNormBackwardOp : public OpWith<BatchNormAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override {
    return attributes_.sync ? "batch_norm_sync_backward" : "batch_norm_backward";
  }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  bool may_overwrite(int index) const override {
    return index == 0 || index == 1 || (attributes_.two_gradients && index == 6);
  }
};

// inputs: those of BatchNormBackwardOp without `sync`. outputs: sums (2 C + 1) fp64 of this tower:
// dbeta and dgamma of each channel, number of rows; dgamma, dbeta in fp32; with relu and residual
// dresidual = g.
class BatchNormGradientSumsOp : public OpWith<BatchNormAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "batch_norm_gradient_sums"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
};

// inputs: x, gamma, beta, running_mean, running_var [, residual]. outputs: y. In training it stands
// for a frozen batch norm: it has gradients for x and the residual, none for gamma and beta.
class BatchNormEvalOp : public OpWith<BatchNormAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "batch_norm_eval"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int index) const override { return index == 0 || index == 5; }
  std::unique_ptr<Op> with_relu() const override;
  std::unique_ptr<Op> with_residual() const override;
};

// inputs: g, gamma, running_var. outputs: dx = gamma / sqrt(running_var + epsilon) g, of g's shape;
// g: the gradient of y behind the relu, if there is one.
class BatchNormEvalBackwardOp : public OpWith<BatchNormAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "batch_norm_eval_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  bool may_overwrite(int index) const override { return index == 0; }
};

// Returns visit(first_mask(attributes)), an integral_constant.
template <typename Visit>
auto with_relu_mask(const BatchNormAttributes& attributes, const Visit& visit) {
  switch (first_mask(attributes)) {
    case ReluMask::none:
      return visit(std::integral_constant<ReluMask, ReluMask::none>{});
    case ReluMask::from_x:
      return visit(std::integral_constant<ReluMask, ReluMask::from_x>{});
    default:
      return visit(std::integral_constant<ReluMask, ReluMask::from_y>{});
  }
}

struct ChannelStatistics {
  float mean, inv_std, stat_mean, stat_var;  // as BatchNormOp outputs them
};

// Returns the statistics from sum = sum x and squares = sum x^2 over `rows` rows. running_var: the
// running average that stat_var updates.
SPIRE_HOST_DEVICE inline ChannelStatistics channel_statistics(double sum, double squares,
                                                              double rows, float epsilon,
                                                              float tower_weight,
                                                              float running_var) {
  double n = rows > 1 ? rows : 1;
  double weight = static_cast<double>(tower_weight);
  double mean = sum / n;
  double var = squares / n - mean * mean;
  if (var < 0) var = 0;  // by rounding; a NaN stays
  return {.mean = static_cast<float>(mean),
          .inv_std = static_cast<float>(1 / std::sqrt(var + static_cast<double>(epsilon))),
          .stat_mean = static_cast<float>(weight * mean),
          .stat_var = n > 1 ? static_cast<float>(weight * var * (n / (n - 1)))
                            : tower_weight * running_var};
}

struct ChannelGradients {
  double dbeta, dgamma;
};

// Returns the gradients from sum_g = sum g and sum_gd = sum g (x - mean).
SPIRE_HOST_DEVICE inline ChannelGradients channel_gradients(double sum_g, double sum_gd,
                                                            float inv_std) {
  return {.dbeta = sum_g, .dgamma = sum_gd * static_cast<double>(inv_std)};
}

// Coefficients of dx = scale g + slope (x - mean) + offset, with scale = gamma inv_std.
struct DxMap {
  float slope, offset;
};

// Returns the coefficients, given the gradients over all n rows.
SPIRE_HOST_DEVICE inline DxMap dx_map(float scale, float inv_std, ChannelGradients gradients,
                                      double n) {
  double a = static_cast<double>(scale) / n;
  return {.slope = static_cast<float>(-a * gradients.dgamma * static_cast<double>(inv_std)),
          .offset = static_cast<float>(-a * gradients.dbeta)};
}

}  // namespace spire
