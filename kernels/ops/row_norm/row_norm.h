// Normalization of rows, over the last axis. For each row of layer normalization (Ba et al., "Layer
// Normalization", 2016), and of RMS normalization (Zhang and Sennrich, "Root Mean Square Layer
// Normalization", 2019), which has mean = 0 and beta = 0:
//   rstd = 1 / sqrt(sum (x - mean)^2 / C + epsilon)    xhat = (x - mean) rstd
//   y = gamma xhat + beta    dx = rstd (g - mean(g) - xhat mean(g xhat)), g = gamma dy
// and over all rows dgamma = sum dy xhat, dbeta = sum dy; RMS normalization has no term mean(g). x,
// y (.., C) are fp32, bf16 or fp16, in M rows; gamma, beta (C), mean, rstd (M) and the computation
// are fp32.
#pragma once
#include <spire/op.h>

namespace spire {

struct RowNormAttributes {
  float epsilon = 1e-5f;
};
using LayerNormAttributes = RowNormAttributes;
using RmsNormAttributes = RowNormAttributes;

// inputs: x, gamma, beta. outputs: y, mean, rstd.
class LayerNormOp : public OpWith<RowNormAttributes> {
 public:
  using OpWith::OpWith;
  std::string_view name() const override { return "layer_norm"; }
  bool may_overwrite(int index) const override { return index == 0; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: x, gamma. outputs: y, rstd.
class RmsNormOp : public OpWith<RowNormAttributes> {
 public:
  using OpWith::OpWith;
  std::string_view name() const override { return "rms_norm"; }
  bool may_overwrite(int index) const override { return index == 0; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy, x, gamma, mean, rstd [, addend]. outputs: dx, dgamma, dbeta, summed in a fixed order.
// addend: what other uses of x contribute to its gradient; it is added to dx, as by the op "add".
class LayerNormBackwardOp : public Op {
 public:
  std::string_view name() const override { return "layer_norm_backward"; }
  bool may_overwrite(int index) const override { return index < 2; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
};

// inputs: dy, x, gamma, rstd [, addend]. outputs: dx, dgamma, summed in a fixed order.
class RmsNormBackwardOp : public Op {
 public:
  std::string_view name() const override { return "rms_norm_backward"; }
  bool may_overwrite(int index) const override { return index < 2; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
};

struct RowExtents {
  int64_t rows, width;
};
inline RowExtents row_extents(const Shape& x) {
  return {x.elements() / x.back(), x.back()};
}

}  // namespace spire
