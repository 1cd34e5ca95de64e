// The exponents of the largest magnitudes of tensors, as flags that tower_sum can add up: the
// highest flag that is not 0 then is that of all towers (highest_exponent() in exact_grid.h).
#pragma once
#include <spire/op.h>

#include "kernels/exact_grid.h"

namespace spire {

// inputs: K tensors, fp32. outputs: flags (K * 256) f64, 0 or 1; of each tensor the highest that is
// 1 is that of its largest magnitude. Others may be 1, too.
class ExactRangeOp : public Op {
 public:
  std::string_view name() const override { return "exact_range"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
};

}  // namespace spire
