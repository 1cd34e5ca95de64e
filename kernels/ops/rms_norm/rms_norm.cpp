// Shapes and gradient of RMS normalization. The backward reads x and rstd; y is not kept.
#include "kernels/ops/rms_norm/rms_norm.h"

#include <spire/op_checks.h>

namespace spire::inline kernels {

namespace {

// Specs of gamma, and of rstd.
TensorSpec gain_of(const TensorSpec& x) {
  return {{x.shape.back()}, DType::f32};
}

TensorSpec rstd_of(const TensorSpec& x) {
  return {{x.shape.elements() / x.shape.back()}, DType::f32};
}

// x, and gamma.
void expect_rows_and_gamma(const Op& op, const TensorSpec& x, const TensorSpec& gamma) {
  expect(op, x.shape.rank() >= 1 && x.shape.elements() > 0 && is_float_type(x.dtype),
         "takes an input (.., C) of fp32 or bf16, got {}", to_string(x));
  expect(op, gamma == gain_of(x), "gamma must be {}, got {}", to_string(gain_of(x)),
         to_string(gamma));
}

}  // namespace

std::vector<TensorSpec> RmsNormOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  expect_rows_and_gamma(*this, inputs[0], inputs[1]);
  expect(*this, attributes_.epsilon > 0, "epsilon is {}; it must be positive", attributes_.epsilon);
  return {inputs[0], rstd_of(inputs[0])};
}

void RmsNormOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy) return;
  auto results = builder.emit(std::make_unique<RmsNormBackwardOp>(),
                              {dy, builder.input(0), builder.input(1), builder.output(1)});
  for (int i : {0, 1})
    if (builder.wants_gradient(i)) builder.set_gradient(i, results[static_cast<size_t>(i)]);
}

std::vector<TensorSpec> RmsNormBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 4, 4);
  const TensorSpec &dy = inputs[0], &x = inputs[1], &rstd = inputs[3];
  expect_rows_and_gamma(*this, x, inputs[2]);
  expect(*this, dy == x, "gradient {} does not fit {}", to_string(dy), to_string(x));
  expect(*this, rstd == rstd_of(x), "rstd must be {}, got {}", to_string(rstd_of(x)),
         to_string(rstd));
  return {x, gain_of(x)};
}

}  // namespace spire::inline kernels
