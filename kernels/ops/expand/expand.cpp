// Shapes and gradient of expand.
#include "kernels/ops/expand/expand.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

std::vector<TensorSpec> ExpandOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  const TensorSpec& x = inputs[0];
  expect(*this, is_float_type(x.dtype) && is_float_type(attributes_.dtype),
         "converts between fp32 and bf16, not {} from {}", spire::to_string(attributes_.dtype),
         to_string(x));
  expect(*this, x.shape.rank() < Shape::max_rank, "{} has no room for another axis", to_string(x));
  expect(*this, attributes_.count > 0, "count is {}; it must be positive", attributes_.count);
  // The new axis, the samples, comes first.
  std::vector<int64_t> dims = {attributes_.count};
  dims.insert(dims.end(), x.shape.dims().begin(), x.shape.dims().end());
  return {{Shape(dims), attributes_.dtype}};
}

void ExpandOp::gradient(GradientBuilder& builder) const {
  // dx has x's dtype, which dy does not show: the op may convert.
  emit_gradient<ExpandBackwardOp>(builder, 0, {builder.output_gradient(0)},
                                  builder.spec(builder.input(0)).dtype);
}

std::vector<TensorSpec> ExpandBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  const TensorSpec& dy = inputs[0];
  expect(*this, dy.shape.rank() >= 1 && is_float_type(dy.dtype) && is_float_type(dtype_),
         "takes a gradient (N, ..) of fp32, bf16 or fp16, got {}", to_string(dy));
  return {{Shape(dy.shape.dims().subspan(1)), dtype_}};
}

}  // namespace spire
