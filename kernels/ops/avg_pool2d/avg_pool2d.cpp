// Shapes and gradients of average pooling. The backward needs the shape of x only, so x is not
// kept.
#include "kernels/ops/avg_pool2d/avg_pool2d.h"

#include <spire/op_checks.h>

#include "kernels/window.h"

namespace spire {

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
  TensorSpec y = pooled(*this, attributes_.window(), x_);
  expect(*this, inputs[0] == y, "takes the gradient of {}, got {}", to_string(y),
         to_string(inputs[0]));
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
  TensorSpec y{{x_.shape[0], x_.shape[3]}, x_.dtype};
  expect(*this, inputs[0] == y, "takes the gradient of {}, got {}", to_string(y),
         to_string(inputs[0]));
  return {x_};
}

}  // namespace spire
