// Mean over all pixels of (N,H,W,C), and its gradient:
//   y[n,c] = sum_{h,w} x[n,h,w,c] / (H W)        dx[n,h,w,c] = dy[n,c] / (H W)
// Summed in fp32.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

// inputs: x (N,H,W,C). outputs: y (N,C) of x's dtype.
class GlobalAvgPoolOp : public Op {
 public:
  std::string_view name() const override { return "global_avg_pool"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy (N,C). outputs: dx, like `x`.
class GlobalAvgPoolBackwardOp : public Op {
 public:
  explicit GlobalAvgPoolBackwardOp(TensorSpec x) : x_(x) {}
  std::string_view name() const override { return "global_avg_pool_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;

 private:
  TensorSpec x_;
};

}  // namespace spire::inline kernels
