// Names, shapes and gradients of regression losses and of the mean loss. The backward reads
// prediction and target again, so the difference is not kept.
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

void expect_samples(const Op& op, std::span<const TensorSpec> inputs) {
  expect_inputs(op, inputs, 1, 1);
  expect(op, is_float_type(inputs[0].dtype) && inputs[0].shape.rank() >= 1,
         "takes fp32, bf16 or fp16 (N, ..), got {}", to_string(inputs[0]));
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

std::vector<TensorSpec> MeanLossOp::infer(std::span<const TensorSpec> inputs) const {
  expect_samples(*this, inputs);
  return {{{1}, DType::f64}};
}

void MeanLossOp::gradient(GradientBuilder& builder) const {
  if (!builder.wants_gradient(0)) return;
  auto dx = builder.emit(std::make_unique<MeanLossBackwardOp>(), {builder.input(0)});
  builder.set_gradient(0, dx[0]);
}

std::vector<TensorSpec> MeanLossBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  expect_samples(*this, inputs);
  return {inputs[0]};
}

}  // namespace spire
