// The loss that a graph computes itself, from x (N, ...) with F elements per sample:
//   loss = sum_n mean_f x      dx = gradient_scale / F for every element
// x is fp32, bf16 or fp16; the sum is fp64, in an order that the shape and the number of threads
// fix.
#pragma once
#include <spire/op.h>

namespace spire {

// inputs: x. outputs: loss (1) f64. The backward starts here.
class MeanLossOp : public Op {
 public:
  std::string_view name() const override { return "mean_loss"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: x, of which only the shape matters. outputs: dx, like x.
class MeanLossBackwardOp : public Op {
 public:
  std::string_view name() const override { return "mean_loss_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool may_overwrite(int) const override { return true; }
};

}  // namespace spire
