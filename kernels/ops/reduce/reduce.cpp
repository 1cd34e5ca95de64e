// Shapes and gradients of sums.
#include "kernels/ops/reduce/reduce.h"

#include <algorithm>

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

std::vector<TensorSpec> ReduceOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  const TensorSpec& x = inputs[0];
  expect(*this, is_float_type(x.dtype), "cannot compute on {}", to_string(x));
  expect(*this, x.shape.rank() >= 2, "{} has no axis beside the one that is summed", to_string(x));
  expect(*this, attributes_.axis >= 0 && attributes_.axis < x.shape.rank(),
         "{} has no axis {}; use {} to {}", to_string(x), attributes_.axis, -x.shape.rank(),
         x.shape.rank() - 1);
  std::vector<int64_t> dims(x.shape.dims().begin(), x.shape.dims().end());
  dims.erase(dims.begin() + attributes_.axis);
  return {{Shape(dims), x.dtype}};
}

void ReduceOp::gradient(GradientBuilder& builder) const {
  int64_t length = builder.spec(builder.input(0)).shape[attributes_.axis];
  ReduceBackwardAttributes backward{.forward = attributes_, .length = length};
  emit_gradient<ReduceBackwardOp>(builder, 0, {builder.output_gradient(0)}, backward);
}

std::vector<TensorSpec> ReduceBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  const TensorSpec& dy = inputs[0];
  int axis = attributes_.forward.axis;
  expect(*this, is_float_type(dy.dtype) && axis >= 0 && axis <= dy.shape.rank(),
         "cannot repeat {} along axis {}", to_string(dy), axis);
  std::vector<int64_t> dims(dy.shape.dims().begin(), dy.shape.dims().end());
  dims.insert(dims.begin() + axis, attributes_.length);
  return {{Shape(dims), dy.dtype}};
}

ReduceExtents reduce_extents(const Shape& x, const ReduceAttributes& attributes) {
  ReduceExtents e;
  for (int axis = 0; axis < x.rank(); ++axis) {
    int64_t& extent = axis < attributes.axis    ? e.outer
                      : axis == attributes.axis ? e.length
                                                : e.inner;
    extent *= x[axis];
  }
  if (attributes.mean) e.factor = 1 / static_cast<double>(std::max<int64_t>(e.length, 1));
  return e;
}

std::vector<TensorSpec> TowerSumOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  const TensorSpec& terms = inputs[0];
  expect(*this, terms.dtype == DType::f64 && terms.shape.rank() == 1, "takes a f64 vector, got {}",
         to_string(terms));
  return {terms};
}

}  // namespace spire
