// Shapes and gradients of a bias: dx = dy needs no kernel, db is the column sum of dy.
#include "kernels/ops/bias/bias.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

std::vector<TensorSpec> BiasOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  expect_rows(*this, inputs[0]);
  expect_like(*this, inputs[1], {{inputs[0].shape.back()}, DType::f32}, "bias");
  return {inputs[0]};
}

void BiasOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  // dx is dy itself: no op, no copy.
  if (builder.wants_gradient(0)) builder.set_gradient(0, dy);
  emit_gradient<BiasBackwardOp>(builder, 1, {dy});
}

std::vector<TensorSpec> BiasBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect_rows(*this, inputs[0]);
  return {{{inputs[0].shape.back()}, DType::f32}};
}

}  // namespace spire
