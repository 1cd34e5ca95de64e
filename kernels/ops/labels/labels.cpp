// Shapes of ops on class labels.
#include "kernels/ops/labels/labels.h"

#include "kernels/expect.h"

namespace spire {

std::vector<TensorSpec> OneHotOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect(*this, inputs[0].dtype == DType::i32 && inputs[0].shape.rank() == 1,
         "takes labels i32 (N), got {}", to_string(inputs[0]));
  expect(*this, attributes_.classes > 0, "{} classes", attributes_.classes);
  auto weights = static_cast<int64_t>(attributes_.weights.size());
  expect(*this, weights == 0 || weights == attributes_.classes, "{} weights for {} classes",
         weights, attributes_.classes);
  expect(*this, is_float_type(attributes_.dtype), "cannot make {}",
         spire::to_string(attributes_.dtype));
  return {{{inputs[0].shape[0], attributes_.classes}, attributes_.dtype}};
}

std::vector<TensorSpec> ExactMatchOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  expect(*this, is_float_type(inputs[0].dtype) && inputs[0].shape.rank() == 2,
         "takes outputs (N, K), got {}", to_string(inputs[0]));
  expect(*this, inputs[1] == TensorSpec{inputs[0].shape, DType::f32}, "takes f32 labels {}, got {}",
         to_string(inputs[0].shape), to_string(inputs[1]));
  return {{{inputs[0].shape[0]}, DType::f32}};
}

}  // namespace spire
