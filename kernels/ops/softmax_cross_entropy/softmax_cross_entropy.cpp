// Shapes and gradient of softmax cross entropy. The backward computes probabilities again, from
// logits and logsumexp.
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"

#include <spire/op_checks.h>

#include "kernels/spec_checks.h"

namespace spire {

namespace {

void expect_logits(const Op& op, TensorSpecs inputs,
                   const SoftmaxCrossEntropyAttributes& attributes) {
  const auto& [label_smoothing, rows_per_sample, mixed, unlabelled, z_loss, weight] = attributes;
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

// The second labels and their shares, inputs `first` and `first` + 1.
void expect_mix(const Op& op, TensorSpecs inputs, size_t first, int64_t rows_per_sample) {
  expect_taken(op, inputs[first], inputs[1], "other labels");
  TensorSpec mix{{inputs[0].shape[0] / rows_per_sample}, DType::f32};
  expect_taken(op, inputs[first + 1], mix, "a mix");
}

}  // namespace

std::vector<TensorSpec> SoftmaxCrossEntropyOp::infer(TensorSpecs inputs) const {
  size_t count = attributes_.mixed ? 4 : 2;
  expect_inputs(*this, inputs, count, count);
  expect_logits(*this, inputs, attributes_);
  if (attributes_.mixed) expect_mix(*this, inputs, 2, attributes_.rows_per_sample);
  return {{{1}, DType::f64}, {{1}, DType::f64}, {{inputs[0].shape[0]}, DType::f32}};
}

void SoftmaxCrossEntropyOp::gradient(GradientBuilder& builder) const {
  // No dy: a loss is a root, and its factor comes with the step (StepContext).
  std::vector<Value> inputs = {builder.input(0), builder.input(1), builder.output(2)};
  if (attributes_.mixed) inputs.insert(inputs.end(), {builder.input(2), builder.input(3)});
  emit_gradient<SoftmaxCrossEntropyBackwardOp>(builder, 0, inputs, attributes_);
}

std::vector<TensorSpec> SoftmaxCrossEntropyBackwardOp::infer(TensorSpecs inputs) const {
  size_t count = attributes_.mixed ? 5 : 3;
  expect_inputs(*this, inputs, count, count);
  expect_logits(*this, inputs, attributes_);
  if (attributes_.mixed) expect_mix(*this, inputs, 3, attributes_.rows_per_sample);
  expect(*this, inputs[2] == TensorSpec{{inputs[0].shape[0]}, DType::f32},
         "takes logsumexp ({}), got {}", inputs[0].shape[0], to_string(inputs[2]));
  return {inputs[0]};
}

}  // namespace spire
