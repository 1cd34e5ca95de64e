// Shapes and gradient of max pooling. The backward reads the index of each maximum, a byte, not x.
#include "kernels/ops/max_pool2d/max_pool2d.h"

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

}  // namespace

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
