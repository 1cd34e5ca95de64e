// Shapes and gradient of the exact cross entropy.
#include "kernels/ops/exact_cross_entropy/exact_cross_entropy.h"

#include <spire/op_checks.h>

namespace spire {

namespace {

void expect_exact(const Op& op, std::span<const TensorSpec> inputs,
                  const SoftmaxCrossEntropyAttributes& a) {
  expect(op, inputs[0].dtype == DType::f32, "takes fp32 logits, got {}", to_string(inputs[0]));
  expect(op, a.rows_per_sample == 1 && !a.unlabelled && a.z_loss == 0,
         "takes samples of one label each, without z-loss; use precision: fp32 for others");
}

}  // namespace

std::vector<TensorSpec> ExactCrossEntropyOp::infer(std::span<const TensorSpec> inputs) const {
  auto outputs = SoftmaxCrossEntropyOp(attributes_).infer(inputs);
  expect_exact(*this, inputs, attributes_);
  return outputs;
}

void ExactCrossEntropyOp::gradient(GradientBuilder& builder) const {
  if (!builder.wants_gradient(0)) return;
  std::vector<Value> inputs = {builder.input(0), builder.input(1)};
  if (attributes_.mixed) inputs.insert(inputs.end(), {builder.input(2), builder.input(3)});
  auto backward = std::make_unique<ExactCrossEntropyBackwardOp>(attributes_);
  builder.set_gradient(0, builder.emit(std::move(backward), inputs)[0]);
}

std::vector<TensorSpec> ExactCrossEntropyBackwardOp::infer(
    std::span<const TensorSpec> inputs) const {
  SoftmaxCrossEntropyOp(attributes_).infer(inputs);
  expect_exact(*this, inputs, attributes_);
  return {inputs[0]};
}

}  // namespace spire
