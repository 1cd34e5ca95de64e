// Shapes and gradient of swiglu. The backward reads x; y is not kept.
#include "kernels/ops/swiglu/swiglu.h"

#include <spire/op_checks.h>

namespace spire {

namespace {

// Returns the spec of y.
TensorSpec half_of(const Op& op, const TensorSpec& x) {
  bool fits = x.shape.rank() >= 1 && x.shape.elements() > 0 && x.shape.back() % 2 == 0;
  expect(op, fits && is_float_type(x.dtype),
         "takes as many gates as values (.., 2F) of fp32, bf16 or fp16, got {}", to_string(x));
  TensorSpec y{x.shape, x.dtype};
  y.shape[y.shape.rank() - 1] /= 2;
  return y;
}

}  // namespace

std::vector<TensorSpec> SwigluOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  return {half_of(*this, inputs[0])};
}

void SwigluOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy || !builder.wants_gradient(0)) return;
  auto dx = builder.emit(std::make_unique<SwigluBackwardOp>(), {dy, builder.input(0)});
  builder.set_gradient(0, dx[0]);
}

std::vector<TensorSpec> SwigluBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  TensorSpec y = half_of(*this, inputs[1]);
  expect(*this, inputs[0] == y, "takes dy {}, got {}", to_string(y), to_string(inputs[0]));
  return {inputs[1]};
}

}  // namespace spire
