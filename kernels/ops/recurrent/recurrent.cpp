// Shapes and gradient of recurrent layers. The gradients of w and b are those of the dense layer
// a = W h + b of all steps at once.
#include "kernels/ops/recurrent/recurrent.h"

#include "kernels/expect.h"
#include "kernels/ops/dense/dense.h"
#include "kernels/spec_checks.h"

namespace spire {

namespace {

void expect_weights(const Op& op, const TensorSpec& w, int64_t gates) {
  bool fits = w.shape.rank() == 2 && w.dtype == DType::f32 && w.shape[1] > 0 &&
              w.shape[0] == gates * w.shape[1];
  expect(op, fits, "takes weights fp32 ({} H, H), got {}", gates, to_string(w));
}

void expect_sequence(const Op& op, const TensorSpec& x, int64_t columns, const char* what) {
  bool fits = x.shape.rank() == 3 && x.shape.elements() > 0 && is_float_type(x.dtype) &&
              x.shape[2] == columns;
  expect(op, fits, "{} must be (N, T, {}), got {}", what, columns, to_string(x));
}

TensorSpec with_columns(TensorSpec sequence, int64_t columns) {
  sequence.shape[2] = columns;
  return sequence;
}

TensorSpec saved_spec(const TensorSpec& y, RecurrentCell cell) {
  return {{y.shape[0], y.shape[1], saved_of(cell), y.shape[2]}, DType::f32};
}

}  // namespace

std::string_view RecurrentOp::name() const {
  return attributes_.cell == RecurrentCell::lstm ? "lstm" : "gru";
}

std::vector<TensorSpec> RecurrentOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 3, 3);
  const TensorSpec &x = inputs[0], &w = inputs[1];
  expect_weights(*this, w, gates_of(attributes_.cell));
  expect_sequence(*this, x, w.shape[0], "the input");
  expect_like(*this, inputs[2], {{w.shape[0]}, DType::f32}, "bias");
  TensorSpec y = with_columns(x, w.shape[1]);
  return {y, saved_spec(y, attributes_.cell)};
}

int64_t RecurrentOp::multiply_adds(TensorSpecs inputs, TensorSpecs) const {
  return inputs[0].shape.elements() * inputs[1].shape[1];
}

void RecurrentOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy) return;
  auto gradients = builder.emit(std::make_unique<RecurrentBackwardOp>(attributes_),
                                {dy, builder.output(0), builder.output(1), builder.input(1)});
  if (builder.wants_gradient(0)) builder.set_gradient(0, gradients[0]);
  if (!builder.wants_gradient(1) && !builder.wants_gradient(2)) return;
  auto weights = std::make_unique<DenseBackwardWeightsOp>(true);
  set_gradients(builder, builder.emit(std::move(weights), {gradients[2], gradients[1]}), 1);
}

std::string_view RecurrentBackwardOp::name() const {
  return attributes_.cell == RecurrentCell::lstm ? "lstm_backward" : "gru_backward";
}

std::vector<TensorSpec> RecurrentBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 4, 4);
  const TensorSpec &dy = inputs[0], &y = inputs[1], &w = inputs[3];
  expect_weights(*this, w, gates_of(attributes_.cell));
  expect_sequence(*this, y, w.shape[1], "the output");
  expect_like(*this, dy, y, "dy");
  expect_like(*this, inputs[2], saved_spec(y, attributes_.cell), "saved");
  TensorSpec dx = with_columns(y, w.shape[0]);
  return {dx, dx, y};
}

int64_t RecurrentBackwardOp::multiply_adds(TensorSpecs, TensorSpecs outputs) const {
  return outputs[0].shape.elements() * outputs[2].shape[2];
}

}  // namespace spire
