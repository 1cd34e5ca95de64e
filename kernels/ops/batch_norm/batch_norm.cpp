// Shapes, gradients and fused forms of batch normalization. The backward reads x, mean and inv_std;
// behind a relu also a mask: y where there is a residual, else beta, from which y is computed
// again.
#include "kernels/ops/batch_norm/batch_norm.h"

#include "kernels/expect.h"
#include "kernels/ops/elementwise/activation.h"
#include "kernels/ops/reduce/reduce.h"
#include "kernels/spec_checks.h"

namespace spire {

namespace {

void expect_normalizable(const Op& op, const TensorSpec& x) {
  expect(op, is_float_type(x.dtype), "cannot compute on {}", to_string(x));
  expect(op, x.shape.rank() >= 2 && x.shape.back() > 0, "takes (N, ..., C), got {}", to_string(x));
}

// The same attributes with a relu behind, null when there is one already.
template <typename SomeOp>
std::unique_ptr<Op> relu_form(BatchNormAttributes attributes) {
  if (attributes.relu) return nullptr;
  attributes.relu = true;
  return std::make_unique<SomeOp>(attributes);
}

template <typename SomeOp>
std::unique_ptr<Op> residual_form(BatchNormAttributes attributes) {
  if (attributes.relu || attributes.residual) return nullptr;
  attributes.relu = attributes.residual = true;
  return std::make_unique<SomeOp>(attributes);
}

// Two sums a channel, and the rows.
TensorSpec sums_of(const TensorSpec& x) {
  return {{2 * x.shape.back() + 1}, DType::f64};
}

}  // namespace

std::vector<TensorSpec> BatchNormOp::infer(TensorSpecs inputs) const {
  auto residual = static_cast<size_t>(residual_input());
  expect_inputs(*this, inputs, residual + attributes_.residual, residual + attributes_.residual);
  const TensorSpec& x = inputs[0];
  expect_normalizable(*this, x);
  TensorSpec c = per_channel(x);
  expect_like(*this, inputs[1], c, "gamma");
  expect_like(*this, inputs[2], c, "beta");
  expect_like(*this, inputs[3], c, "running_var");
  if (attributes_.sync) expect_like(*this, inputs[4], sums_of(x), "the vector of moments");
  if (attributes_.residual) expect_like(*this, inputs[residual], x, "residual");
  return {x, c, c, c, c};
}

void BatchNormOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy) return;
  ReluMask mask = first_mask(attributes_);
  BatchNormAttributes first = attributes_;
  std::vector<Value> terms = {dy};
  if (mask == ReluMask::from_y) terms = builder.gradient_terms(0);
  first.two_gradients = terms.size() == 2;
  std::vector<Value> inputs = {terms[0], builder.input(0), builder.input(1), builder.output(1),
                               builder.output(2)};
  if (mask != ReluMask::none)
    inputs.push_back(mask == ReluMask::from_y ? builder.output(0) : builder.input(2));
  if (first.two_gradients) inputs.push_back(terms[1]);
  std::unique_ptr<Op> op = std::make_unique<BatchNormBackwardOp>(first);
  if (attributes_.sync) op = std::make_unique<BatchNormGradientSumsOp>(first);
  // dx or this tower's sums, then the gradients of gamma and beta: those of this tower alone, as of
  // all parameters; the reduction adds them over towers later.
  auto results = builder.emit(std::move(op), inputs);
  int own = attributes_.sync ? 1 : 0;
  set_gradients(builder, {results.begin() + own, results.begin() + 3}, own);
  // The residual receives g: written by the backward behind a relu, else dy itself.
  Value g = mask == ReluMask::from_y ? results[3] : dy;
  if (attributes_.residual && builder.wants_gradient(residual_input()))
    builder.set_gradient(residual_input(), g);
  if (!attributes_.sync || !builder.wants_gradient(0)) return;
  inputs[0] = g;
  if (mask == ReluMask::from_y) inputs.resize(5);
  inputs.push_back(builder.emit(std::make_unique<TowerSumOp>(), {results[0]})[0]);
  emit_gradient<BatchNormBackwardOp>(builder, 0, inputs, attributes_);
}

std::unique_ptr<Op> BatchNormOp::with_relu() const {
  return relu_form<BatchNormOp>(attributes_);
}

std::unique_ptr<Op> BatchNormOp::with_residual() const {
  return residual_form<BatchNormOp>(attributes_);
}

std::vector<TensorSpec> BatchNormMomentsOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect_normalizable(*this, inputs[0]);
  return {sums_of(inputs[0])};
}

std::vector<TensorSpec> BatchNormBackwardOp::infer(TensorSpecs inputs) const {
  ReluMask mask = first_mask(attributes_);
  if (attributes_.sync) mask = second_mask(mask);
  bool two = attributes_.two_gradients;
  require(!two || mask == ReluMask::from_y, "two terms of dy need a residual behind a relu");
  size_t count = 5 + (mask != ReluMask::none) + attributes_.sync + two;
  expect_inputs(*this, inputs, count, count);
  const TensorSpec& x = inputs[1];
  expect_normalizable(*this, x);
  TensorSpec c = per_channel(x);
  expect_like(*this, inputs[0], x, "dy");
  for (size_t i : {2, 3, 4}) expect_like(*this, inputs[i], c, "a vector of channels");
  if (mask != ReluMask::none)
    expect_like(*this, inputs[5], mask == ReluMask::from_y ? x : c, "mask");
  if (two) expect_like(*this, inputs[6], x, "the second term of dy");
  if (attributes_.sync) {
    expect_like(*this, inputs.back(), sums_of(x), "the vector of sums");
    return {x};
  }
  std::vector<TensorSpec> outputs = {x, c, c};
  if (mask == ReluMask::from_y) outputs.push_back(x);
  return outputs;
}

std::vector<TensorSpec> BatchNormGradientSumsOp::infer(TensorSpecs inputs) const {
  BatchNormAttributes plain = attributes_;
  plain.sync = false;
  auto outputs = BatchNormBackwardOp(plain).infer(inputs);  // dx, dgamma, dbeta [, g]
  outputs[0] = sums_of(inputs[1]);
  return outputs;
}

std::vector<TensorSpec> BatchNormEvalOp::infer(TensorSpecs inputs) const {
  size_t count = attributes_.residual ? 6 : 5;
  expect_inputs(*this, inputs, count, count);
  expect_normalizable(*this, inputs[0]);
  TensorSpec c = per_channel(inputs[0]);
  for (size_t i : {1, 2, 3, 4}) expect_like(*this, inputs[i], c, "a vector of channels");
  if (attributes_.residual) expect_like(*this, inputs[5], inputs[0], "residual");
  return {inputs[0]};
}

void BatchNormEvalOp::gradient(GradientBuilder& builder) const {
  Value g = builder.output_gradient(0);
  if (!g) return;
  expect(*this, !builder.wants_gradient(1) && !builder.wants_gradient(2),
         "has no gradients for gamma and beta: freeze both or neither");
  if (attributes_.relu)
    g = builder.emit(std::make_unique<ActivationBackwardOp>(), {g, builder.output(0)})[0];
  if (attributes_.residual && builder.wants_gradient(5)) builder.set_gradient(5, g);
  emit_gradient<BatchNormEvalBackwardOp>(builder, 0, {g, builder.input(1), builder.input(4)},
                                         attributes_);
}

std::vector<TensorSpec> BatchNormEvalBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 3, 3);
  expect_normalizable(*this, inputs[0]);
  for (size_t i : {1, 2})
    expect_like(*this, inputs[i], per_channel(inputs[0]), "a vector of channels");
  return {inputs[0]};
}

std::unique_ptr<Op> BatchNormEvalOp::with_relu() const {
  return relu_form<BatchNormEvalOp>(attributes_);
}

std::unique_ptr<Op> BatchNormEvalOp::with_residual() const {
  return residual_form<BatchNormEvalOp>(attributes_);
}

}  // namespace spire
