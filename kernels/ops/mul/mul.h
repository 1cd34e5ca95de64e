// Elementwise y = a * b. a and b have one shape and dtype, fp32 or bf16; y has the same.
// da = dy * b, db = dy * a: the gradient is two more mul.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

// inputs: a, b. outputs: y.
class MulOp : public Op {
 public:
  std::string_view name() const override { return "mul"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int) const override { return true; }
};

}  // namespace spire::inline kernels
