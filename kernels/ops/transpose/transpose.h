// The axes of a tensor in another order: y's axis i is x's axis axes[i]. Moves elements as they
// are, whatever the dtype. Its gradient is the inverse order.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

// inputs: x. outputs: y.
class TransposeOp : public Op {
 public:
  // axes: every axis of x once.
  explicit TransposeOp(std::vector<int> axes) : axes_(std::move(axes)) {}
  const std::vector<int>& axes() const { return axes_; }

  std::string_view name() const override { return "transpose"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  std::vector<int> axes_;
};

// An axis of y: its length, and the elements from one index to the next in y and in x.
struct TransposeAxis {
  int64_t length = 1, to = 1, from = 1;
};
// The axes of y, innermost first, those that stay neighbours taken as one; one at least. Lengths of
// 1 are left out. So one of them has from = 1.
std::vector<TransposeAxis> merged_axes(const TransposeOp& op, const Shape& x, const Shape& y);

}  // namespace spire::inline kernels
