// Permutation of axes, for any dtype: y's axis i is x's axis axes[i].
#pragma once
#include <spire/op.h>

namespace spire {

class TransposeOp : public Op {  // inputs: x. outputs: y.
 public:
  explicit TransposeOp(std::vector<int> axes) : axes_(std::move(axes)) {}  // a permutation
  const std::vector<int>& axes() const { return axes_; }

  std::string_view name() const override { return "transpose"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  std::vector<int> axes_;
};

// An axis of y: its length, and the elements from one index to the next in y and in x.
struct TransposeAxis {
  int64_t length = 1, to = 1, from = 1;
};
// Returns the axes of y, innermost first, at least one. Axes that stay neighbours are merged, those
// of length 1 left out. One of them has from = 1.
std::vector<TransposeAxis> merged_axes(const TransposeOp& op, const Shape& x, const Shape& y);

}  // namespace spire
