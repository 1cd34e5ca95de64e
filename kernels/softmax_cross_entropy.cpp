#include <spire/kernels/softmax_cross_entropy.h>

#include <spire/kernels/float_type.h>

namespace spire {

namespace {

void expect_rows(const Op& op, std::span<const TensorSpec> inputs, float label_smoothing) {
  const TensorSpec &logits = inputs[0], &labels = inputs[1];
  expect(op, is_float_type(logits.dtype), "cannot compute on {}", to_string(logits));
  expect(op, logits.shape.rank() == 2 && logits.shape[1] > 0, "takes logits (N, C), got {}",
         to_string(logits));
  expect(op, labels == TensorSpec{{logits.shape[0]}, DType::i32},
         "takes i32 labels ({}), got {}; for soft targets use mse", logits.shape[0],
         to_string(labels));
  expect(op, label_smoothing >= 0 && label_smoothing < 1, "label_smoothing {} is outside [0, 1)",
         label_smoothing);
}

}  // namespace

std::vector<TensorSpec> SoftmaxCrossEntropyOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  expect_rows(*this, inputs, attributes_.label_smoothing);
  return {{{1}, DType::f64}, {{1}, DType::f64}, {{inputs[0].shape[0]}, DType::f32}};
}

void SoftmaxCrossEntropyOp::gradient(GradientBuilder& builder) const {
  if (!builder.wants_gradient(0)) return;
  auto backward = std::make_unique<SoftmaxCrossEntropyBackwardOp>(attributes_);
  auto results =
      builder.emit(std::move(backward), {builder.input(0), builder.input(1), builder.output(2)});
  builder.set_gradient(0, results[0]);
}

std::vector<TensorSpec> SoftmaxCrossEntropyBackwardOp::infer(
    std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 3, 3);
  expect_rows(*this, inputs, attributes_.label_smoothing);
  expect(*this, inputs[2] == TensorSpec{{inputs[0].shape[0]}, DType::f32},
         "takes logsumexp ({}), got {}", inputs[0].shape[0], to_string(inputs[2]));
  return {inputs[0]};
}

}  // namespace spire
