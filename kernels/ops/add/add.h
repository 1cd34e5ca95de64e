// Elementwise y = a + b, optionally through a relu. a and b have one shape and dtype, fp32 or bf16;
// y has the same. da = db = dy, masked by y > 0 behind a relu.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

// inputs: a, b. outputs: y.
class AddOp : public Op {
 public:
  explicit AddOp(bool relu = false) : relu_(relu) {}
  bool relu() const { return relu_; }

  std::string_view name() const override { return "add"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int) const override { return true; }
  std::unique_ptr<Op> with_relu() const override;

 private:
  bool relu_;
};

}  // namespace spire::inline kernels
