// The sum over all towers of a step, added up in the order of the fixed tree over tower indices.
// What a tower hands in and what every tower gets are vectors of one length; towers run in lockstep
// up to here. The kernel is that of a step with one tower: it copies. A run with several towers
// stops before an op that sums_towers() and does the sum in the kernel's place.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

// inputs: a vector (K) fp64, this tower's. outputs: the sum, (K) fp64.
// It has no gradient: ops that read a sum over towers say theirs through one more such sum.
class TowerSumOp : public Op {
 public:
  std::string_view name() const override { return "tower_sum"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool sums_towers() const override { return true; }
};

}  // namespace spire::inline kernels
