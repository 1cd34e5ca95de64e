// Shapes and gradient of mean_loss.
#include "kernels/ops/mean_loss/mean_loss.h"

#include <spire/op_checks.h>

namespace spire {

namespace {

void expect_samples(const Op& op, std::span<const TensorSpec> inputs) {
  expect_inputs(op, inputs, 1, 1);
  expect(op, is_float_type(inputs[0].dtype) && inputs[0].shape.rank() >= 1,
         "takes fp32, bf16 or fp16 (N, ..), got {}", to_string(inputs[0]));
}

}  // namespace

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
