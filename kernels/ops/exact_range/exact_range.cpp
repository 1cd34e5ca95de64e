// Shape of the flags of exponents.
#include "kernels/ops/exact_range/exact_range.h"

#include <spire/op_checks.h>

namespace spire {

std::vector<TensorSpec> ExactRangeOp::infer(std::span<const TensorSpec> inputs) const {
  expect(*this, !inputs.empty(), "takes at least one tensor");
  for (const TensorSpec& input : inputs)
    expect(*this, input.dtype == DType::f32 && input.shape.elements() > 0, "takes fp32, got {}",
           to_string(input));
  return {{{static_cast<int64_t>(inputs.size()) * exponent_count}, DType::f64}};
}

}  // namespace spire
