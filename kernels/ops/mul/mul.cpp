#include "kernels/ops/mul/mul.h"

#include "kernels/float_type.h"

namespace spire::inline kernels {

std::vector<TensorSpec> MulOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  expect(*this, inputs[0] == inputs[1], "cannot multiply {} and {}", to_string(inputs[0]),
         to_string(inputs[1]));
  expect(*this, is_float_type(inputs[0].dtype), "cannot compute on {}", to_string(inputs[0]));
  return {inputs[0]};
}

void MulOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy) return;
  for (int i : {0, 1}) {
    if (!builder.wants_gradient(i)) continue;
    builder.set_gradient(i, builder.emit(std::make_unique<MulOp>(), {dy, builder.input(1 - i)})[0]);
  }
}

}  // namespace spire::inline kernels
