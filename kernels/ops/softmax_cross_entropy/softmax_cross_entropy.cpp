// Shapes and gradient of softmax cross entropy.
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

namespace {

void expect_logits(const Op& op, TensorSpecs inputs,
                   const SoftmaxCrossEntropyAttributes& attributes) {
  const auto& [label_smoothing, rows_per_sample, mixed, unlabelled, z_loss, weight, gradient] =
      attributes;
  const TensorSpec &logits = inputs[0], &labels = inputs[1];
  expect(op, is_float_type(logits.dtype), "cannot compute on {}", to_string(logits));
  expect(op, logits.shape.rank() == 2 && logits.shape[1] > 0, "takes logits (N, C), got {}",
         to_string(logits));
  expect(op, labels == TensorSpec{{logits.shape[0]}, DType::i32},
         "takes i32 labels ({}), got {}; for soft targets use mse", logits.shape[0],
         to_string(labels));
  expect(op, label_smoothing >= 0 && label_smoothing < 1, "label_smoothing {} is outside [0, 1)",
         label_smoothing);
  expect(op, z_loss >= 0, "z_loss is {}; it must not be negative", z_loss);
  expect(op, weight >= 0, "weight is {}; it must not be negative", weight);
  expect(op, rows_per_sample > 0 && logits.shape[0] % rows_per_sample == 0,
         "{} rows cannot be divided into samples of {} rows each", logits.shape[0],
         rows_per_sample);
  expect(op, !(mixed && unlabelled), "mixed samples need a label for each row");
}

// The second labels and their shares.
void expect_mix(const Op& op, TensorSpecs inputs, int64_t rows_per_sample) {
  expect_taken(op, inputs[2], inputs[1], "other labels");
  TensorSpec mix{{inputs[0].shape[0] / rows_per_sample}, DType::f32};
  expect_taken(op, inputs[3], mix, "a mix");
}

}  // namespace

std::vector<TensorSpec> SoftmaxCrossEntropyOp::infer(TensorSpecs inputs) const {
  size_t count = attributes_.mixed ? 4 : 2;
  expect_inputs(*this, inputs, count, count);
  expect_logits(*this, inputs, attributes_);
  if (attributes_.mixed) expect_mix(*this, inputs, attributes_.rows_per_sample);
  std::vector<TensorSpec> outputs = {{{1}, DType::f64}, {{1}, DType::f64}};
  if (attributes_.gradient) outputs.insert(outputs.begin(), inputs[0]);
  return outputs;
}

// No dy: a loss is a root, and its factor comes with the step (StepContext).
void SoftmaxCrossEntropyOp::gradient(GradientBuilder& builder) const {
  require(attributes_.gradient, "the gradient of a cross entropy that does not make it");
  if (builder.wants_gradient(0)) builder.set_gradient(0, builder.output(0));
}

}  // namespace spire
