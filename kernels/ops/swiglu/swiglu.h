// Gated activation of transformers (Shazeer, "GLU Variants Improve Transformer", 2020). x has F
// columns of gates g and then F of values u:
//   y = silu(g) u    dg = dy u silu'(g)    du = dy silu(g)
// x (.., 2F), y (.., F) are fp32, bf16 or fp16; the computation is in fp32, with Silu's functor
// (activation.h).
#pragma once
#include <spire/op.h>

namespace spire {

// inputs: x. outputs: y.
class SwigluOp : public Op {
 public:
  std::string_view name() const override { return "swiglu"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy, x. outputs: dx.
class SwigluBackwardOp : public Op {
 public:
  std::string_view name() const override { return "swiglu_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool may_overwrite(int index) const override { return index == 1; }
};

}  // namespace spire
