// Names, shapes and gradients of regression losses and of the mean loss. The backward reads
// prediction and target again, so the difference is not kept.
#include "kernels/ops/regression_loss/regression_loss.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

namespace {

struct LossNames {
  std::string_view forward, backward;
};

// In the order of Regression.
constexpr LossNames loss_names[] = {
    {"mse", "mse_backward"}, {"l1", "l1_backward"}, {"l1_l2", "l1_l2_backward"}};

void expect_pair(const Op& op, TensorSpecs inputs) {
  expect_inputs(op, inputs, 2, 2);
  expect(op, inputs[0].shape == inputs[1].shape,
         "prediction {} and target {} must have the same shape", to_string(inputs[0]),
         to_string(inputs[1]));
  for (const TensorSpec& input : inputs)
    expect(op, is_float_type(input.dtype) && input.shape.rank() >= 1, "cannot compute on {}",
           to_string(input));
}

void expect_samples(const Op& op, TensorSpecs inputs) {
  expect_inputs(op, inputs, 1, 1);
  expect(op, is_float_type(inputs[0].dtype) && inputs[0].shape.rank() >= 1,
         "takes fp32, bf16 or fp16 (N, ..), got {}", to_string(inputs[0]));
}

}  // namespace

std::string_view RegressionLossOp::name() const {
  return loss_names[static_cast<size_t>(attributes_.kind)].forward;
}

std::string_view RegressionLossBackwardOp::name() const {
  return loss_names[static_cast<size_t>(attributes_.kind)].backward;
}

std::vector<TensorSpec> RegressionLossOp::infer(TensorSpecs inputs) const {
  expect_pair(*this, inputs);
  return {{{1}, DType::f64}, {{1}, DType::f64}};
}

void RegressionLossOp::gradient(GradientBuilder& builder) const {
  // The loss has a gradient by the target, too, but no model trains one: asking for it is a
  // mistake.
  expect(*this, !builder.wants_gradient(1), "the target cannot be trained");
  emit_gradient<RegressionLossBackwardOp>(builder, 0, {builder.input(0), builder.input(1)},
                                          attributes_);
}

std::vector<TensorSpec> RegressionLossBackwardOp::infer(TensorSpecs inputs) const {
  expect_pair(*this, inputs);
  return {inputs[0]};
}

std::vector<TensorSpec> MeanLossOp::infer(TensorSpecs inputs) const {
  expect_samples(*this, inputs);
  return {{{1}, DType::f64}};
}

void MeanLossOp::gradient(GradientBuilder& builder) const {
  emit_gradient<MeanLossBackwardOp>(builder, 0, {builder.input(0)});
}

std::vector<TensorSpec> MeanLossBackwardOp::infer(TensorSpecs inputs) const {
  expect_samples(*this, inputs);
  return {inputs[0]};
}

}  // namespace spire
