// Shapes and gradient of group normalization. The backward reads x, mean and rstd; y is not kept.
#include "kernels/ops/group_norm/group_norm.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

namespace {

void expect_samples(const Op& op, const TensorSpec& x) {
  expect(op, x.shape.rank() >= 2 && x.shape.elements() > 0 && is_float_type(x.dtype),
         "takes an input (N, .., C) of fp32, bf16 or fp16, got {}", to_string(x));
}

}  // namespace

std::vector<TensorSpec> GroupNormOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 3, 3);
  const TensorSpec& x = inputs[0];
  expect_samples(*this, x);
  int64_t groups = attributes_.groups, channels = x.shape.back();
  expect(*this, groups >= 1 && channels % groups == 0,
         "{} groups do not divide {} channels; use a divisor", groups, channels);
  expect_like(*this, inputs[1], per_channel(x), "gamma");
  expect_like(*this, inputs[2], per_channel(x), "beta");
  expect(*this, attributes_.epsilon > 0, "epsilon is {}; it must be positive", attributes_.epsilon);
  TensorSpec statistics{{x.shape[0], groups}, DType::f32};
  return {x, statistics, statistics};
}

void GroupNormOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy) return;
  set_gradients(builder, builder.emit(std::make_unique<GroupNormBackwardOp>(),
                                      {dy, builder.input(0), builder.input(1), builder.output(1),
                                       builder.output(2)}));
}

std::vector<TensorSpec> GroupNormBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 5, 5);
  const TensorSpec &x = inputs[1], &mean = inputs[3];
  expect_samples(*this, x);
  expect_like(*this, inputs[0], x, "dy");
  expect_like(*this, inputs[2], per_channel(x), "gamma");
  bool fits = mean.shape.rank() == 2 && mean.dtype == DType::f32 && mean.shape[0] == x.shape[0] &&
              mean.shape[1] >= 1 && x.shape.back() % mean.shape[1] == 0;
  expect(*this, fits, "mean {} does not fit an input {}", to_string(mean), to_string(x));
  expect_like(*this, inputs[4], mean, "rstd");
  return {x, per_channel(x), per_channel(x)};
}

}  // namespace spire
