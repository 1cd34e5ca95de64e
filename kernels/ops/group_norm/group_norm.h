// Group normalization (Wu, He, "Group Normalization", 2018). Channels are divided into G groups;
// for each sample and group, over its M = C / G channels at all P positions:
//   rstd = 1 / sqrt(sum (x - mean)^2 / (P M) + epsilon)    xhat = (x - mean) rstd
//   y = gamma xhat + beta    dx = rstd (g - mean(g) - xhat mean(g xhat)), g = gamma dy
// and over all samples and positions dgamma = sum dy xhat, dbeta = sum dy. With G = C it is
// instance normalization (Ulyanov et al. 2016). x, y (N, .., C) are fp32, bf16 or fp16, P being the
// product of the axes between; gamma, beta (C), mean, rstd (N, G) and the computation are fp32.
#pragma once
#include <spire/op.h>

namespace spire {

struct GroupNormAttributes {
  int64_t groups = 1;
  float epsilon = 1e-5f;
};

// inputs: x, gamma, beta. outputs: y, mean, rstd.
class GroupNormOp : public OpWith<GroupNormAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "group_norm"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int index) const override { return index == 0; }
};

// inputs: dy, x, gamma, mean, rstd. outputs: dx, dgamma, dbeta, summed in a fixed order.
class GroupNormBackwardOp : public Op {
 public:
  std::string_view name() const override { return "group_norm_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  bool may_overwrite(int index) const override { return index == 0 || index == 1; }
};

// Extents of x (N, .., C) in G groups: what a kernel reads of the shapes of x and of mean (N, G).
struct GroupNormExtents {
  int64_t samples, positions, channels, groups;

  SPIRE_HOST_DEVICE int64_t group_channels() const { return channels / groups; }
  SPIRE_HOST_DEVICE int64_t group_size() const { return positions * group_channels(); }
  SPIRE_HOST_DEVICE int64_t sample_size() const { return positions * channels; }
};
inline GroupNormExtents group_norm_extents(const Shape& x, const Shape& mean) {
  return {x[0], x.elements() / (x[0] * x.back()), x.back(), mean[1]};
}

}  // namespace spire
