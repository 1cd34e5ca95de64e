// Shape of exact matches. A score has no gradient.
#include "kernels/ops/exact_match/exact_match.h"

#include <spire/op_checks.h>

namespace spire {

std::vector<TensorSpec> ExactMatchOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  expect(*this, is_float_type(inputs[0].dtype) && inputs[0].shape.rank() == 2,
         "takes outputs (N, K), got {}", to_string(inputs[0]));
  expect(*this, inputs[1] == TensorSpec{inputs[0].shape, DType::f32}, "takes f32 labels {}, got {}",
         to_string(inputs[0].shape), to_string(inputs[1]));
  return {{{inputs[0].shape[0]}, DType::f32}};
}

}  // namespace spire
