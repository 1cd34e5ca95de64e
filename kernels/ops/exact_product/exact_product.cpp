// Shapes, gradients and work of exact products.
#include "kernels/ops/exact_product/exact_product.h"

#include "kernels/expect.h"
#include "kernels/ops/reduce/reduce.h"
#include "kernels/spec_checks.h"

namespace spire {

namespace {

bool is_image_or_row(const TensorSpec& x) {
  return x.dtype == DType::f32 && (x.shape.rank() == 2 || x.shape.rank() == 4) &&
         x.shape.elements() > 0;
}

// The shape of y, an image or a row as x is.
Shape result_of(const Op& op, const ExactProductAttributes& a, const Shape& x, const Shape& w) {
  if (x.rank() == 2) return {x[0], w[0]};
  Window window{{w[2], w[3]}, a.stride, a.padding, a.dilation};
  Extent2d out = slide(op, window, extent_of(x));
  return {x[0], out.h, out.w, w[0]};
}

void expect_operands(const Op& op, const TensorSpec& x, const TensorSpec& w) {
  expect(op, is_image_or_row(x), "takes fp32 (N, C) or (N, H, W, C), got {}", to_string(x));
  expect(op, w.dtype == DType::f32 && w.shape.rank() == x.shape.rank() && w.shape.elements() > 0,
         "takes weights fp32 of {} axes, got {}", x.shape.rank(), to_string(w));
}

int64_t products(const Shape& y, const Shape& w) {
  return y.elements() * (w.elements() / w[0]);
}

}  // namespace

Shape as_image(const Shape& x) {
  return x.rank() == 2 ? Shape{x[0], 1, 1, x[1]} : x;
}

Shape as_filter(const Shape& w) {
  return w.rank() == 2 ? Shape{w[0], w[1], 1, 1} : w;
}

Patches patches_of(const ExactProductAttributes& a, const Shape& in, const Shape& out,
                   const Shape& w, bool transposed) {
  return {extent_of(in),
          extent_of(out),
          {{w[2], w[3]}, a.stride, a.padding, a.dilation},
          in[3],
          transposed};
}

std::vector<TensorSpec> ExactProductOp::infer(TensorSpecs inputs) const {
  size_t count = attributes_.bias ? 3 : 2;
  expect_inputs(*this, inputs, count, count);
  const TensorSpec &x = inputs[0], &w = inputs[1];
  expect_operands(*this, x, w);
  expect(*this, x.shape.back() == w.shape[1], "weights {} take {} channels, the input {} has {}",
         to_string(w.shape), w.shape[1], to_string(x.shape), x.shape.back());
  if (attributes_.bias) expect_like(*this, inputs[2], {{w.shape[0]}, DType::f32}, "bias");
  return {{result_of(*this, attributes_, x.shape, w.shape), DType::f32}};
}

int64_t ExactProductOp::multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const {
  return products(outputs[0].shape, inputs[1].shape);
}

void ExactProductOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0), x = builder.input(0), w = builder.input(1);
  bool wants_bias = attributes_.bias && builder.wants_gradient(2);
  emit_gradient<ExactProductBackwardDataOp>(builder, 0, {dy, w}, attributes_, builder.spec(x));
  if (!builder.wants_gradient(1) && !wants_bias) return;
  auto over_towers = [&](Value terms) {
    return builder.emit(std::make_unique<TowerSumOp>(), {terms})[0];
  };
  Value flags = over_towers(builder.emit(std::make_unique<ExactRangeOp>(), {x, dy})[0]);
  ExactProductAttributes attributes = attributes_;
  attributes.bias = wants_bias;
  const Shape shape = builder.spec(w).shape;
  auto sums = std::make_unique<ExactProductBackwardWeightsOp>(attributes, shape);
  Value total = over_towers(builder.emit(std::move(sums), {x, dy, flags})[0]);
  auto rounded = std::make_unique<ExactGradientOp>(shape, wants_bias);
  set_gradients(builder, builder.emit(std::move(rounded), {total}), 1);
}

std::vector<TensorSpec> ExactProductBackwardDataOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  const TensorSpec& w = inputs[1];
  expect_operands(*this, x_, w);
  TensorSpec y{result_of(*this, attributes_, x_.shape, w.shape), DType::f32};
  expect_taken(*this, inputs[0], y, "a gradient");
  return {x_};
}

int64_t ExactProductBackwardDataOp::multiply_adds(TensorSpecs inputs, TensorSpecs) const {
  return products(inputs[0].shape, inputs[1].shape);
}

std::vector<TensorSpec> ExactProductBackwardWeightsOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 3, 3);
  const TensorSpec& x = inputs[0];
  expect_operands(*this, x, {w_, DType::f32});
  TensorSpec y{result_of(*this, attributes_, x.shape, w_), DType::f32};
  expect_taken(*this, inputs[1], y, "a gradient");
  expect_taken(*this, inputs[2], {{2 * exponent_count}, DType::f64}, "flags");
  return {{{w_.elements() + (attributes_.bias ? w_[0] : 0)}, DType::f64}};
}

int64_t ExactProductBackwardWeightsOp::multiply_adds(TensorSpecs inputs, TensorSpecs) const {
  return products(inputs[1].shape, w_);
}

std::vector<TensorSpec> ExactRangeOp::infer(TensorSpecs inputs) const {
  expect(*this, !inputs.empty(), "takes at least one tensor");
  for (const TensorSpec& input : inputs)
    expect(*this, input.dtype == DType::f32 && input.shape.elements() > 0, "takes fp32, got {}",
           to_string(input));
  return {{{static_cast<int64_t>(inputs.size()) * exponent_count}, DType::f64}};
}

std::vector<TensorSpec> ExactGradientOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  TensorSpec total{{w_.elements() + (bias_ ? w_[0] : 0)}, DType::f64};
  expect_taken(*this, inputs[0], total, "a total");
  std::vector<TensorSpec> gradients{{w_, DType::f32}};
  if (bias_) gradients.push_back({{w_[0]}, DType::f32});
  return gradients;
}

}  // namespace spire
