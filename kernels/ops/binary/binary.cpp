// Shapes and gradients of elementwise ops on two tensors.
#include "kernels/ops/binary/binary.h"

#include <spire/op_checks.h>

namespace spire {

namespace {

// Returns the spec of y. verb: what cannot be done with inputs that differ.
TensorSpec combined(const Op& op, std::span<const TensorSpec> inputs, const char* verb) {
  expect_inputs(op, inputs, 2, 2);
  expect(op, inputs[0] == inputs[1], "cannot {} {} and {}", verb, to_string(inputs[0]),
         to_string(inputs[1]));
  expect(op, is_float_type(inputs[0].dtype), "cannot compute on {}", to_string(inputs[0]));
  return inputs[0];
}

Value negative(GradientBuilder& builder, Value x) {
  ActivationAttributes minus_x{.kind = Activation::affine, .factor = -1};
  return builder.emit(std::make_unique<ActivationOp>(minus_x), {x})[0];
}

}  // namespace

std::vector<TensorSpec> AddOp::infer(std::span<const TensorSpec> inputs) const {
  return {combined(*this, inputs, "add")};
}

void AddOp::gradient(GradientBuilder& builder) const {
  Value gradient = builder.output_gradient(0);
  if (!gradient || !(builder.wants_gradient(0) || builder.wants_gradient(1))) return;
  if (relu_) {
    // y > 0 is where the relu was open.
    auto relu = std::make_unique<ActivationBackwardOp>(ActivationAttributes{Activation::relu});
    gradient = builder.emit(std::move(relu), {gradient, builder.output(0)})[0];
  }
  for (int i : {0, 1}) {
    if (builder.wants_gradient(i)) builder.set_gradient(i, gradient);
  }
}

std::unique_ptr<Op> AddOp::with_relu() const {
  return relu_ ? nullptr : std::make_unique<AddOp>(true);
}

std::vector<TensorSpec> MulOp::infer(std::span<const TensorSpec> inputs) const {
  return {combined(*this, inputs, "multiply")};
}

void MulOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy) return;
  for (int i : {0, 1}) {
    if (!builder.wants_gradient(i)) continue;
    // da = dy b, db = dy a
    builder.set_gradient(i, builder.emit(std::make_unique<MulOp>(), {dy, builder.input(1 - i)})[0]);
  }
}

std::vector<TensorSpec> SubOp::infer(std::span<const TensorSpec> inputs) const {
  return {combined(*this, inputs, "subtract")};
}

void SubOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy) return;
  if (builder.wants_gradient(0)) builder.set_gradient(0, dy);
  if (builder.wants_gradient(1)) builder.set_gradient(1, negative(builder, dy));
}

std::vector<TensorSpec> DivOp::infer(std::span<const TensorSpec> inputs) const {
  return {combined(*this, inputs, "divide")};
}

void DivOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy || !(builder.wants_gradient(0) || builder.wants_gradient(1))) return;
  Value da = builder.emit(std::make_unique<DivOp>(), {dy, builder.input(1)})[0];
  if (builder.wants_gradient(0)) builder.set_gradient(0, da);
  if (!builder.wants_gradient(1)) return;
  Value product = builder.emit(std::make_unique<MulOp>(), {builder.output(0), da})[0];
  builder.set_gradient(1, negative(builder, product));
}

}  // namespace spire
