// Sum of a vector over all towers of a step, in the order of the fixed tree over tower indices. All
// towers wait here for the sum, which their runner computes; a single tower's kernel copies.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

// inputs: this tower's vector (K) fp64. outputs: the sum (K) fp64.
class TowerSumOp : public Op {
 public:
  std::string_view name() const override { return "tower_sum"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool sums_towers() const override { return true; }
};

}  // namespace spire::inline kernels
