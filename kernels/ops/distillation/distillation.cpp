// Shapes and gradient of distillation.
#include "kernels/ops/distillation/distillation.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

namespace {

void expect_pair(const Op& op, TensorSpecs inputs, const DistillationAttributes& attributes) {
  const TensorSpec &logits = inputs[0], &teacher = inputs[1];
  expect(op, is_float_type(logits.dtype), "cannot compute on {}", to_string(logits));
  expect(op, logits.shape.rank() == 2 && logits.shape[1] > 0, "takes logits (N, C), got {}",
         to_string(logits));
  expect(op, teacher == logits, "takes a teacher's {} like the logits, got {}", to_string(logits),
         to_string(teacher));
  expect(op, attributes.temperature > 0, "temperature is {}; it must be above 0",
         attributes.temperature);
  expect(op, attributes.weight >= 0, "weight is {}; it must not be negative", attributes.weight);
  int64_t rows = attributes.rows_per_sample;
  expect(op, rows > 0 && logits.shape[0] % rows == 0,
         "{} rows cannot be divided into samples of {} rows each", logits.shape[0], rows);
}

}  // namespace

std::vector<TensorSpec> DistillationOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 3);
  expect_pair(*this, inputs, attributes_);
  TensorSpec loss{{1}, DType::f64}, logsumexp{{inputs[0].shape[0]}, DType::f32};
  if (inputs.size() == 3) expect_taken(*this, inputs[2], loss, "a loss so far");
  return {loss, logsumexp, logsumexp};
}

void DistillationOp::gradient(GradientBuilder& builder) const {
  std::vector<Value> inputs = {builder.input(0), builder.input(1), builder.output(1),
                               builder.output(2)};
  emit_gradient<DistillationBackwardOp>(builder, 0, inputs, attributes_);
}

std::vector<TensorSpec> DistillationBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 4, 4);
  expect_pair(*this, inputs, attributes_);
  TensorSpec logsumexp{{inputs[0].shape[0]}, DType::f32};
  for (size_t i : {2, 3}) expect_taken(*this, inputs[i], logsumexp, "logsumexp");
  return {inputs[0]};
}

}  // namespace spire
