// Shapes and gradients of layer and RMS normalization. The backward reads x, mean and rstd; y is
// not kept.
#include "kernels/ops/row_norm/row_norm.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {
namespace {

// Spec of mean and rstd.
TensorSpec per_row(const TensorSpec& x) {
  return {{x.shape.elements() / x.shape.back()}, DType::f32};
}

// In a transformer x is the residual stream, whose gradient the branches add up one by one.
template <typename BackwardOp>
void emit_backward(GradientBuilder& builder, std::vector<Value> inputs) {
  if (builder.wants_gradient(0))
    if (Value others = builder.take_gradient(0)) inputs.push_back(others);
  set_gradients(builder, builder.emit(std::make_unique<BackwardOp>(), inputs));
}

void expect_epsilon(const Op& op, float epsilon) {
  expect(op, epsilon > 0, "epsilon is {}; it must be positive", epsilon);
}

}  // namespace

std::vector<TensorSpec> LayerNormOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 3, 3);
  const TensorSpec& x = inputs[0];
  expect_rows(*this, x);
  expect_like(*this, inputs[1], per_channel(x), "gamma");
  expect_like(*this, inputs[2], per_channel(x), "beta");
  expect_epsilon(*this, attributes_.epsilon);
  return {x, per_row(x), per_row(x)};
}

void LayerNormOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy) return;
  emit_backward<LayerNormBackwardOp>(
      builder, {dy, builder.input(0), builder.input(1), builder.output(1), builder.output(2)});
}

std::vector<TensorSpec> LayerNormBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 5, 6);
  const TensorSpec& x = inputs[1];
  expect_rows(*this, x);
  expect_like(*this, inputs[0], x, "dy");
  expect_like(*this, inputs[2], per_channel(x), "gamma");
  expect_like(*this, inputs[3], per_row(x), "mean");
  expect_like(*this, inputs[4], per_row(x), "rstd");
  if (inputs.size() == 6) expect_like(*this, inputs[5], x, "the addend");
  return {x, per_channel(x), per_channel(x)};
}

std::vector<TensorSpec> RmsNormOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  const TensorSpec& x = inputs[0];
  expect_rows(*this, x);
  expect_like(*this, inputs[1], per_channel(x), "gamma");
  expect_epsilon(*this, attributes_.epsilon);
  return {x, per_row(x)};
}

void RmsNormOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy) return;
  emit_backward<RmsNormBackwardOp>(builder,
                                   {dy, builder.input(0), builder.input(1), builder.output(1)});
}

std::vector<TensorSpec> RmsNormBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 4, 5);
  const TensorSpec &dy = inputs[0], &x = inputs[1];
  expect_rows(*this, x);
  expect_like(*this, inputs[2], per_channel(x), "gamma");
  expect(*this, dy == x, "gradient {} does not fit {}", to_string(dy), to_string(x));
  expect_like(*this, inputs[3], per_row(x), "rstd");
  if (inputs.size() == 5) expect_like(*this, inputs[4], x, "the addend");
  return {x, per_channel(x)};
}

}  // namespace spire
