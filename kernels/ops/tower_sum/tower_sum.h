// Sum of a vector over all towers of a step, in the order of the fixed tree over tower indices.
// Every tower contributes a vector and receives the sum; towers synchronize here. The kernel serves
// a step with one tower, and copies. With several towers the runner stops before an op that
// sums_towers() and computes the sum itself.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

// inputs: a vector (K) fp64, this tower's. outputs: the sum, (K) fp64.
// It has no gradient: ops that read a sum over towers emit one more such sum in theirs.
class TowerSumOp : public Op {
 public:
  std::string_view name() const override { return "tower_sum"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool sums_towers() const override { return true; }
};

}  // namespace spire::inline kernels
