// Names, shapes and gradient of regression losses. The backward reads prediction and target again,
// so the difference is not kept.
#include "kernels/ops/regression_loss/regression_loss.h"

#include <spire/op_checks.h>

namespace spire {

namespace {

void expect_pair(const Op& op, std::span<const TensorSpec> inputs) {
  expect_inputs(op, inputs, 2, 2);
  expect(op, inputs[0].shape == inputs[1].shape,
         "prediction {} and target {} must have the same shape", to_string(inputs[0]),
         to_string(inputs[1]));
  for (const TensorSpec& input : inputs)
    expect(op, is_float_type(input.dtype) && input.shape.rank() >= 1, "cannot compute on {}",
           to_string(input));
}

}  // namespace

std::string_view RegressionLossOp::name() const {
  switch (kind_) {
    case Regression::mse:
      return "mse";
    case Regression::l1:
      return "l1";
    default:
      return "l1_l2";
  }
}

std::string_view RegressionLossBackwardOp::name() const {
  switch (kind_) {
    case Regression::mse:
      return "mse_backward";
    case Regression::l1:
      return "l1_backward";
    default:
      return "l1_l2_backward";
  }
}

std::vector<TensorSpec> RegressionLossOp::infer(std::span<const TensorSpec> inputs) const {
  expect_pair(*this, inputs);
  return {{{1}, DType::f64}, {{1}, DType::f64}};
}

void RegressionLossOp::gradient(GradientBuilder& builder) const {
  // The loss has a gradient by the target, too, but no model trains one: asking for it is a
  // mistake.
  expect(*this, !builder.wants_gradient(1), "the target cannot be trained");
  if (!builder.wants_gradient(0)) return;
  auto backward = std::make_unique<RegressionLossBackwardOp>(kind_, weights_);
  auto results = builder.emit(std::move(backward), {builder.input(0), builder.input(1)});
  builder.set_gradient(0, results[0]);
}

std::vector<TensorSpec> RegressionLossBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  expect_pair(*this, inputs);
  return {inputs[0]};
}

}  // namespace spire
