#include <spire/kernels/regression_loss.h>

#include <spire/kernels/float_type.h>

namespace spire {

namespace {

void expect_pair(const Op& op, std::span<const TensorSpec> inputs) {
  expect_inputs(op, inputs, 2, 2);
  expect(op, inputs[0] == inputs[1], "prediction {} and target {} differ", to_string(inputs[0]),
         to_string(inputs[1]));
  expect(op, is_float_type(inputs[0].dtype) && inputs[0].shape.rank() >= 1, "cannot compute on {}",
         to_string(inputs[0]));
}

}  // namespace

std::vector<TensorSpec> RegressionLossOp::infer(std::span<const TensorSpec> inputs) const {
  expect_pair(*this, inputs);
  return {{{1}, DType::f64}};
}

void RegressionLossOp::gradient(GradientBuilder& builder) const {
  expect(*this, !builder.wants_gradient(1), "the target cannot be trained");
  if (!builder.wants_gradient(0)) return;
  auto backward = std::make_unique<RegressionLossBackwardOp>(kind_);
  auto results = builder.emit(std::move(backward), {builder.input(0), builder.input(1)});
  builder.set_gradient(0, results[0]);
}

std::vector<TensorSpec> RegressionLossBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  expect_pair(*this, inputs);
  return {inputs[0]};
}

}  // namespace spire
