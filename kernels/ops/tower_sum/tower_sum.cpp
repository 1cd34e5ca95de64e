// Shape of a sum over towers. It has no gradient: an op that reads such a sum emits one more in its
// gradient (BatchNormOp).
#include "kernels/ops/tower_sum/tower_sum.h"

#include <spire/op_checks.h>

namespace spire {

std::vector<TensorSpec> TowerSumOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  const TensorSpec& terms = inputs[0];
  expect(*this, terms.dtype == DType::f64 && terms.shape.rank() == 1, "takes a f64 vector, got {}",
         to_string(terms));
  return {terms};
}

}  // namespace spire
