// Sum of a vector over all towers of a step, along a fixed binary tree over tower indices
// (engine/update/tree.h), so that the bits do not depend on the devices. With several towers no
// kernel runs: Plan::run_segment() stops here, and its caller adds up the vectors of all towers.
// With one tower the kernel copies input to output.
#pragma once
#include <spire/op.h>

namespace spire {

// inputs: this tower's vector (K) fp64. outputs: the sum (K) fp64.
class TowerSumOp : public Op {
 public:
  std::string_view name() const override { return "tower_sum"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool sums_towers() const override { return true; }
};

}  // namespace spire
