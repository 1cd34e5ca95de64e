// Shapes of the gradients that exact sums give.
#include "kernels/ops/exact_gradient/exact_gradient.h"

#include <spire/op_checks.h>

namespace spire {

std::vector<TensorSpec> ExactGradientOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  TensorSpec total{{w_.elements() + (bias_ ? w_[0] : 0)}, DType::f64};
  expect(*this, inputs[0] == total, "takes a total {}, got {}", to_string(total),
         to_string(inputs[0]));
  std::vector<TensorSpec> gradients{{w_, DType::f32}};
  if (bias_) gradients.push_back({{w_[0]}, DType::f32});
  return gradients;
}

}  // namespace spire
