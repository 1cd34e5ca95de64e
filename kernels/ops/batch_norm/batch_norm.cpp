#include "kernels/ops/batch_norm/batch_norm.h"

#include "kernels/ops/batch_norm/batch_norm_specs.h"

namespace spire::inline kernels {

std::vector<TensorSpec> BatchNormOp::infer(std::span<const TensorSpec> inputs) const {
  size_t count = attributes_.residual ? 4 : 3;
  expect_inputs(*this, inputs, count, count);
  expect_normalizable(*this, inputs[0]);
  TensorSpec c = channels_of(inputs[0]);
  expect_like(*this, inputs[1], c, "gamma");
  expect_like(*this, inputs[2], c, "beta");
  if (attributes_.residual) expect_like(*this, inputs[3], inputs[0], "residual");
  return {inputs[0], c, c, c, c};
}

void BatchNormOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy) return;
  std::vector<Value> inputs = {dy, builder.input(0), builder.input(1), builder.output(1),
                               builder.output(2)};
  bool masked_residual = attributes_.relu && attributes_.residual;
  if (attributes_.relu) inputs.push_back(masked_residual ? builder.output(0) : builder.input(2));
  auto results = builder.emit(std::make_unique<BatchNormBackwardOp>(attributes_), inputs);
  for (int i : {0, 1, 2}) {
    if (builder.wants_gradient(i)) builder.set_gradient(i, results[static_cast<size_t>(i)]);
  }
  if (attributes_.residual && builder.wants_gradient(3)) {
    builder.set_gradient(3, masked_residual ? results[3] : dy);
  }
}

std::unique_ptr<Op> BatchNormOp::with_relu() const {
  return relu_form<BatchNormOp>(attributes_);
}

std::unique_ptr<Op> BatchNormOp::with_residual() const {
  return residual_form<BatchNormOp>(attributes_);
}

std::vector<TensorSpec> BatchNormBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  size_t count = attributes_.relu ? 6 : 5;
  expect_inputs(*this, inputs, count, count);
  expect_normalizable(*this, inputs[1]);
  const TensorSpec& x = inputs[1];
  TensorSpec c = channels_of(x);
  expect_like(*this, inputs[0], x, "dy");
  for (size_t i : {2, 3, 4}) expect_like(*this, inputs[i], c, "a vector of channels");
  if (attributes_.relu) expect_like(*this, inputs[5], attributes_.residual ? x : c, "mask");
  std::vector<TensorSpec> outputs = {x, c, c};
  if (attributes_.relu && attributes_.residual) outputs.push_back(x);
  return outputs;
}

std::vector<TensorSpec> BatchNormEvalOp::infer(std::span<const TensorSpec> inputs) const {
  size_t count = attributes_.residual ? 6 : 5;
  expect_inputs(*this, inputs, count, count);
  expect_normalizable(*this, inputs[0]);
  TensorSpec c = channels_of(inputs[0]);
  for (size_t i : {1, 2, 3, 4}) expect_like(*this, inputs[i], c, "a vector of channels");
  if (attributes_.residual) expect_like(*this, inputs[5], inputs[0], "residual");
  return {inputs[0]};
}

std::unique_ptr<Op> BatchNormEvalOp::with_relu() const {
  return relu_form<BatchNormEvalOp>(attributes_);
}

std::unique_ptr<Op> BatchNormEvalOp::with_residual() const {
  return residual_form<BatchNormEvalOp>(attributes_);
}

}  // namespace spire::inline kernels
