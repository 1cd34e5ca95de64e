// Shapes and gradients of pooling. The backward of an average needs the shape of x only, that of a
// maximum its index, a byte: x is not kept.
#include "kernels/ops/pool2d/pool2d.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

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

std::vector<TensorSpec> AvgPool2dOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  return {pooled(*this, attributes_.window(), inputs[0])};
}

void AvgPool2dOp::gradient(GradientBuilder& builder) const {
  // The shape of x does not follow from dy: windows may leave pixels out.
  emit_gradient<AvgPool2dBackwardOp>(builder, 0, {builder.output_gradient(0)}, attributes_,
                                     builder.spec(builder.input(0)));
}

std::vector<TensorSpec> AvgPool2dBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect_taken(*this, inputs[0], pooled(*this, attributes_.window(), x_), "the gradient of");
  return {x_};
}

std::vector<TensorSpec> GlobalAvgPoolOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect_nhwc(*this, inputs[0]);
  return {{{inputs[0].shape[0], inputs[0].shape[3]}, inputs[0].dtype}};
}

void GlobalAvgPoolOp::gradient(GradientBuilder& builder) const {
  emit_gradient<GlobalAvgPoolBackwardOp>(builder, 0, {builder.output_gradient(0)},
                                         builder.spec(builder.input(0)));
}

std::vector<TensorSpec> GlobalAvgPoolBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect_nhwc(*this, x_);
  TensorSpec y{{x_.shape[0], x_.shape[3]}, x_.dtype};
  expect_taken(*this, inputs[0], y, "the gradient of");
  return {x_};
}

std::vector<TensorSpec> MaxPool2dOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  return maxima(*this, attributes_, inputs[0]);
}

void MaxPool2dOp::gradient(GradientBuilder& builder) const {
  emit_gradient<MaxPool2dBackwardOp>(builder, 0, {builder.output_gradient(0), builder.output(1)},
                                     attributes_, builder.spec(builder.input(0)));
}

std::vector<TensorSpec> MaxPool2dBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  auto forward = maxima(*this, attributes_, x_);
  expect(*this, inputs[0] == forward[0] && inputs[1] == forward[1],
         "takes {} and {}, got {} and {}", to_string(forward[0]), to_string(forward[1]),
         to_string(inputs[0]), to_string(inputs[1]));
  return {x_};
}

}  // namespace spire
