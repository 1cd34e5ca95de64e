// Sums and means over one axis, which the output lacks; x (outer, L, inner), y (outer, inner):
//   sum:  y = sum_l x        dx = dy, repeated L times
//   mean: y = sum_l x / L    dx = dy / L, repeated
// x and y have one dtype, fp32, bf16 or fp16; each sum is fp64, in an order that the shape fixes.
// Also the sum of a vector over the towers of a step.
#pragma once
#include <cstdint>

#include <spire/op.h>

namespace spire {

struct ReduceAttributes {
  int axis = 1;  // counts from the first
  bool mean = false;
};

// inputs: x, of rank 2 or more. outputs: y. The kind is the name: "sum" or "mean".
class ReduceOp : public OpWith<ReduceAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return attributes_.mean ? "mean" : "sum"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

struct ReduceBackwardAttributes {
  ReduceAttributes forward;
  int64_t length = 1;  // L
};

// inputs: dy. outputs: dx.
class ReduceBackwardOp : public OpWith<ReduceBackwardAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override {
    return attributes_.forward.mean ? "mean_backward" : "sum_backward";
  }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
};

struct ReduceExtents {
  int64_t outer = 1, length = 1, inner = 1;
  double factor = 1;  // 1 / L of a mean
};
ReduceExtents reduce_extents(const Shape& x, const ReduceAttributes& attributes);

// Sum of a vector over all towers of a step, along a fixed binary tree over tower indices
// (engine/update/tree.h), so that the bits do not depend on the devices. With several towers no
// kernel runs: Plan::run_segment() stops here, and its caller adds up the vectors of all towers.
// With one tower the kernel copies input to output. It has no gradient: an op that reads such a sum
// emits one more in its gradient (BatchNormOp). inputs: this tower's vector (K) fp64. outputs: the
// sum (K) fp64.
class TowerSumOp : public Op {
 public:
  std::string_view name() const override { return "tower_sum"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  bool sums_towers() const override { return true; }
};

}  // namespace spire
