// Shapes and gradient of layer normalization. The backward reads x, mean and rstd; y is not kept.
#include "kernels/ops/layer_norm/layer_norm.h"

namespace spire::inline kernels {

namespace {

void expect_rows(const Op& op, const TensorSpec& x) {
  expect(op, x.shape.rank() >= 1 && x.shape.elements() > 0 && is_float_type(x.dtype),
         "takes an input (.., C) of fp32 or bf16, got {}", to_string(x));
}

// Specs of gamma and beta, and of mean and rstd.
TensorSpec columns_of(const TensorSpec& x) {
  return {{x.shape.back()}, DType::f32};
}

TensorSpec rows_of(const TensorSpec& x) {
  return {{x.shape.elements() / x.shape.back()}, DType::f32};
}

void expect_like(const Op& op, const TensorSpec& got, const TensorSpec& want, const char* what) {
  expect(op, got == want, "{} must be {}, got {}", what, to_string(want), to_string(got));
}

}  // namespace

std::vector<TensorSpec> LayerNormOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 3, 3);
  const TensorSpec& x = inputs[0];
  expect_rows(*this, x);
  expect_like(*this, inputs[1], columns_of(x), "gamma");
  expect_like(*this, inputs[2], columns_of(x), "beta");
  expect(*this, attributes_.epsilon > 0, "epsilon is {}; it must be positive", attributes_.epsilon);
  return {x, rows_of(x), rows_of(x)};
}

void LayerNormOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy) return;
  auto results =
      builder.emit(std::make_unique<LayerNormBackwardOp>(),
                   {dy, builder.input(0), builder.input(1), builder.output(1), builder.output(2)});
  for (int i : {0, 1, 2}) {
    if (builder.wants_gradient(i)) builder.set_gradient(i, results[static_cast<size_t>(i)]);
  }
}

std::vector<TensorSpec> LayerNormBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 5, 5);
  const TensorSpec& x = inputs[1];
  expect_rows(*this, x);
  expect_like(*this, inputs[0], x, "dy");
  expect_like(*this, inputs[2], columns_of(x), "gamma");
  expect_like(*this, inputs[3], rows_of(x), "mean");
  expect_like(*this, inputs[4], rows_of(x), "rstd");
  return {x, columns_of(x), columns_of(x)};
}

}  // namespace spire::inline kernels
