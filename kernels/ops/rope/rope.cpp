// Shapes and gradient of rotary position embedding.
#include "kernels/ops/rope/rope.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

std::vector<TensorSpec> RopeOp::infer(TensorSpecs inputs) const {
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
  if (positioned)
    expect_taken(*this, inputs[1], {{x.shape[0], x.shape[1]}, DType::i32}, "positions");
  return {x};
}

void RopeOp::gradient(GradientBuilder& builder) const {
  RopeAttributes back = attributes_;
  back.inverse = !back.inverse;
  std::vector<Value> inputs = {builder.output_gradient(0)};
  if (back.positioned) inputs.push_back(builder.input(1));
  emit_gradient<RopeOp>(builder, 0, inputs, back);
}

}  // namespace spire
