// Selection of indices along an axis, in any order, repeats allowed:
//   y[.., k, ..] = x[.., indices[k], ..]
//   dx[.., a, ..] = sum over all k with indices[k] = a of dy[.., k, ..]
// x is fp32, bf16 or fp16; indices (K) i32. An index outside the axis makes its part of y NaN and
// adds nothing to dx.
#pragma once
#include <spire/op.h>

namespace spire {

// inputs: x, indices. outputs: y, like x but with K indices along the axis.
class GatherOp : public Op {
 public:
  explicit GatherOp(int axis) : axis_(axis) {}
  int axis() const { return axis_; }

  std::string_view name() const override { return "gather"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  int axis_;
};

// inputs: dy, indices. outputs: dx, `length` long along the axis, summed in fp32 in order of k.
class GatherBackwardOp : public Op {
 public:
  GatherBackwardOp(int axis, int64_t length) : axis_(axis), length_(length) {}
  int axis() const { return axis_; }

  std::string_view name() const override { return "gather_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;

 private:
  int axis_;
  int64_t length_;
};

}  // namespace spire
