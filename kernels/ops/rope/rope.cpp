// Shapes and gradient of rotary position embedding.
#include "kernels/ops/rope/rope.h"

#include <spire/op_checks.h>

namespace spire {

std::vector<TensorSpec> RopeOp::infer(std::span<const TensorSpec> inputs) const {
  const auto& [heads, size, theta, inverse, positioned] = attributes_;
  size_t count = positioned ? 2 : 1;
  expect_inputs(*this, inputs, count, count);
  const TensorSpec& x = inputs[0];
  expect(*this, x.shape.rank() == 3 && x.shape.elements() > 0 && is_float_type(x.dtype),
         "takes an input (N, T, C) of fp32, bf16 or fp16, got {}", to_string(x));
  expect(*this, size > 0 && size % 2 == 0,
         "heads have {} columns; an even number can turn in pairs", size);
  expect(*this, heads > 0 && heads <= x.shape[2] / size, "{} heads of {} columns are not in {}",
         heads, size, to_string(x));
  expect(*this, theta > 1 && std::isfinite(theta), "theta is {}; it must be larger than 1", theta);
  if (positioned) {
    TensorSpec positions{{x.shape[0], x.shape[1]}, DType::i32};
    expect(*this, inputs[1] == positions, "takes positions {}, got {}", to_string(positions),
           to_string(inputs[1]));
  }
  return {x};
}

void RopeOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy || !builder.wants_gradient(0)) return;
  RopeAttributes back = attributes_;
  back.inverse = !back.inverse;
  std::vector<Value> inputs = {dy};
  if (back.positioned) inputs.push_back(builder.input(1));
  builder.set_gradient(0, builder.emit(std::make_unique<RopeOp>(back), inputs)[0]);
}

}  // namespace spire
