// Shapes, gradients and work of the fully connected layer: dx = dy w, dw = dy^T x, db the column
// sum of dy. Behind a relu, dy is masked by y > 0 first.
#include "kernels/ops/dense/dense.h"

#include "kernels/expect.h"
#include "kernels/ops/elementwise/activation.h"
#include "kernels/spec_checks.h"

namespace spire {

namespace {

void expect_matrix(const Op& op, const TensorSpec& x) {
  expect(op, x.shape.rank() >= 2 && x.shape.elements() > 0, "takes an input (.., K), got {}",
         to_string(x.shape));
  expect(op, is_float_type(x.dtype), "cannot compute on {}", to_string(x.dtype));
}

TensorSpec with_last(TensorSpec spec, int64_t last) {
  spec.shape[spec.shape.rank() - 1] = last;
  return spec;
}

void expect_weights(const Op& op, const TensorSpec& w) {
  expect(op, w.shape.rank() == 2 && w.dtype == DType::f32 && w.shape.elements() > 0,
         "takes weights fp32 (N, K), got {}", to_string(w));
}

}  // namespace

std::vector<TensorSpec> DenseOp::infer(TensorSpecs inputs) const {
  size_t count = attributes_.bias ? 3 : 2;
  expect_inputs(*this, inputs, count, count);
  const TensorSpec &x = inputs[0], &w = inputs[1];
  expect_matrix(*this, x);
  expect_weights(*this, w);
  expect(*this, x.shape.back() == w.shape[1], "weights {} take {} features, the input {} has {}",
         to_string(w.shape), w.shape[1], to_string(x.shape), x.shape.back());
  if (attributes_.bias) expect_like(*this, inputs[2], {{w.shape[0]}, DType::f32}, "bias");
  return {with_last(x, w.shape[0])};
}

int64_t DenseOp::multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const {
  return outputs[0].shape.elements() * inputs[0].shape.back();
}

void DenseOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (attributes_.relu) dy = through_relu(builder, dy);
  bool wants_bias = attributes_.bias && builder.wants_gradient(2);
  emit_gradient<DenseBackwardDataOp>(builder, 0, {dy, builder.input(1)});
  // dw and db are one op, as both read dy.
  if (!builder.wants_gradient(1) && !wants_bias) return;
  auto op = std::make_unique<DenseBackwardWeightsOp>(wants_bias);
  set_gradients(builder, builder.emit(std::move(op), {builder.input(0), dy}), 1);
}

std::unique_ptr<Op> DenseOp::with_relu() const {
  if (attributes_.relu) return nullptr;
  return std::make_unique<DenseOp>(DenseAttributes{attributes_.bias, true});
}

std::vector<TensorSpec> DenseBackwardDataOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  const TensorSpec &dy = inputs[0], &w = inputs[1];
  expect_matrix(*this, dy);
  expect_weights(*this, w);
  expect(*this, dy.shape.back() == w.shape[0], "weights {} make {} features, the gradient is {}",
         to_string(w.shape), w.shape[0], to_string(dy.shape));
  return {with_last(dy, w.shape[1])};
}

int64_t DenseBackwardDataOp::multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const {
  return outputs[0].shape.elements() * inputs[0].shape.back();
}

std::vector<TensorSpec> DenseBackwardWeightsOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  const TensorSpec &x = inputs[0], &dy = inputs[1];
  expect_matrix(*this, x);
  expect(*this, dy == with_last(x, dy.shape.rank() > 0 ? dy.shape.back() : 0),
         "takes an input and a gradient of equal rows, got {} and {}", to_string(x), to_string(dy));
  int64_t features = x.shape.back(), outputs = dy.shape.back();
  std::vector<TensorSpec> gradients{{{outputs, features}, DType::f32}};
  if (bias_) gradients.push_back({{outputs}, DType::f32});
  return gradients;
}

int64_t DenseBackwardWeightsOp::multiply_adds(TensorSpecs inputs, TensorSpecs) const {
  return inputs[1].shape.elements() * inputs[0].shape.back();
}

}  // namespace spire
