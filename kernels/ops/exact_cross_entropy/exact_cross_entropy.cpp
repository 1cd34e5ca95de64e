// Shapes and gradient of the exact cross entropy.
#include "kernels/ops/exact_cross_entropy/exact_cross_entropy.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

namespace {

void expect_exact(const Op& op, TensorSpecs inputs, const SoftmaxCrossEntropyAttributes& a) {
  expect(op, inputs[0].dtype == DType::f32, "takes fp32 logits, got {}", to_string(inputs[0]));
  expect(op, a.rows_per_sample == 1 && !a.unlabelled && a.z_loss == 0,
         "takes samples of one label each, without z-loss; use precision: fp32 for others");
}

}  // namespace

std::vector<TensorSpec> ExactCrossEntropyOp::infer(TensorSpecs inputs) const {
  auto outputs = SoftmaxCrossEntropyOp(attributes_).infer(inputs);
  expect_exact(*this, inputs, attributes_);
  return outputs;
}

void ExactCrossEntropyOp::gradient(GradientBuilder& builder) const {
  std::vector<Value> inputs = {builder.input(0), builder.input(1)};
  if (attributes_.mixed) inputs.insert(inputs.end(), {builder.input(2), builder.input(3)});
  emit_gradient<ExactCrossEntropyBackwardOp>(builder, 0, inputs, attributes_);
}

std::vector<TensorSpec> ExactCrossEntropyBackwardOp::infer(TensorSpecs inputs) const {
  SoftmaxCrossEntropyOp(attributes_).infer(inputs);
  expect_exact(*this, inputs, attributes_);
  return {inputs[0]};
}

}  // namespace spire
