// Shapes and gradients of pooling. The backward of an average needs the shape of x only, that of a
// maximum its index, a byte: x is not kept.
#include "kernels/ops/pool2d/pool2d.h"

#include <spire/op_checks.h>

namespace spire {

namespace {

// Returns the specs of y and which. A tap's index must fit its byte.
std::vector<TensorSpec> maxima(const Op& op, const MaxPool2dAttributes& a, const TensorSpec& x) {
  TensorSpec y = pooled(op, a.window(), x);
  expect(op, a.kernel.h * a.kernel.w <= 256, "kernel {} has more than 256 taps",
         to_string(a.kernel));
  return {y, {y.shape, DType::u8}};
}

void expect_gradient_of(const Op& op, const TensorSpec& y, const TensorSpec& dy) {
  expect(op, dy == y, "takes the gradient of {}, got {}", to_string(y), to_string(dy));
}

}  // namespace

std::vector<TensorSpec> AvgPool2dOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  return {pooled(*this, attributes_.window(), inputs[0])};
}

void AvgPool2dOp::gradient(GradientBuilder& builder) const {
  if (!builder.wants_gradient(0)) return;
  // The shape of x does not follow from dy: windows may leave pixels out.
  auto op = std::make_unique<AvgPool2dBackwardOp>(attributes_, builder.spec(builder.input(0)));
  builder.set_gradient(0, builder.emit(std::move(op), {builder.output_gradient(0)})[0]);
}

std::vector<TensorSpec> AvgPool2dBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect_gradient_of(*this, pooled(*this, attributes_.window(), x_), inputs[0]);
  return {x_};
}

std::vector<TensorSpec> GlobalAvgPoolOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect_nhwc(*this, inputs[0]);
  return {{{inputs[0].shape[0], inputs[0].shape[3]}, inputs[0].dtype}};
}

void GlobalAvgPoolOp::gradient(GradientBuilder& builder) const {
  if (!builder.wants_gradient(0)) return;
  auto op = std::make_unique<GlobalAvgPoolBackwardOp>(builder.spec(builder.input(0)));
  builder.set_gradient(0, builder.emit(std::move(op), {builder.output_gradient(0)})[0]);
}

std::vector<TensorSpec> GlobalAvgPoolBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect_nhwc(*this, x_);
  expect_gradient_of(*this, {{x_.shape[0], x_.shape[3]}, x_.dtype}, inputs[0]);
  return {x_};
}

std::vector<TensorSpec> MaxPool2dOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  return maxima(*this, attributes_, inputs[0]);
}

void MaxPool2dOp::gradient(GradientBuilder& builder) const {
  if (!builder.wants_gradient(0)) return;
  auto op = std::make_unique<MaxPool2dBackwardOp>(attributes_, builder.spec(builder.input(0)));
  std::vector<Value> inputs{builder.output_gradient(0), builder.output(1)};
  builder.set_gradient(0, builder.emit(std::move(op), inputs)[0]);
}

std::vector<TensorSpec> MaxPool2dBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  auto forward = maxima(*this, attributes_, x_);
  expect(*this, inputs[0] == forward[0] && inputs[1] == forward[1],
         "takes {} and {}, got {} and {}", to_string(forward[0]), to_string(forward[1]),
         to_string(inputs[0]), to_string(inputs[1]));
  return {x_};
}

}  // namespace spire
