// A parameter added to the last axis, and its gradient, the column sum:
//   y[.., c] = x[.., c] + b[c]        db[c] = sum over all rows of dy[.., c]
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

// inputs: x (.., C) fp32 or bf16, b (C) fp32 parameter. outputs: y, like x.
class BiasOp : public Op {
 public:
  std::string_view name() const override { return "bias"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int index) const override { return index == 0; }
};

// inputs: dy (.., C). outputs: db (C) fp32. Rows are summed in chunks that the shape alone fixes,
// so the bits do not depend on the thread count.
class BiasBackwardOp : public Op {
 public:
  std::string_view name() const override { return "bias_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
};

}  // namespace spire::inline kernels
