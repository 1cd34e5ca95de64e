// Sums and means over one axis, which the output lacks; x (outer, L, inner), y (outer, inner):
//   sum:  y = sum_l x        dx = dy, repeated L times
//   mean: y = sum_l x / L    dx = dy / L, repeated
// x and y have one dtype, fp32, bf16 or fp16; each sum is fp64, in an order that the shape fixes.
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
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
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
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
};

struct ReduceExtents {
  int64_t outer = 1, length = 1, inner = 1;
  double factor = 1;  // 1 / L of a mean
};
ReduceExtents reduce_extents(const Shape& x, const ReduceAttributes& attributes);

}  // namespace spire
