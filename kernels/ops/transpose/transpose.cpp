// Shape and gradient of transpose, and the axes that its kernels loop over.
#include "kernels/ops/transpose/transpose.h"

#include <fmt/ranges.h>

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

std::vector<TensorSpec> TransposeOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  const Shape& x = inputs[0].shape;
  std::vector<bool> seen(axes_.size(), false);
  bool fits = static_cast<int>(axes_.size()) == x.rank();
  for (size_t i = 0; fits && i < axes_.size(); ++i) {
    fits = axes_[i] >= 0 && axes_[i] < x.rank() && !seen[static_cast<size_t>(axes_[i])];
    if (fits) seen[static_cast<size_t>(axes_[i])] = true;
  }
  expect(*this, fits, "({}) is not an order of the axes of {}", fmt::join(axes_, ", "),
         to_string(inputs[0]));
  TensorSpec y = inputs[0];
  for (int i = 0; i < x.rank(); ++i) y.shape[i] = x[axes_[static_cast<size_t>(i)]];
  return {y};
}

// The inverse permutation.
void TransposeOp::gradient(GradientBuilder& builder) const {
  std::vector<int> inverse(axes_.size());
  for (size_t i = 0; i < axes_.size(); ++i) {
    inverse[static_cast<size_t>(axes_[i])] = static_cast<int>(i);
  }
  emit_gradient<TransposeOp>(builder, 0, {builder.output_gradient(0)}, inverse);
}

std::vector<TransposeAxis> merged_axes(const TransposeOp& op, const Shape& x, const Shape& y) {
  std::vector<int64_t> strides(static_cast<size_t>(x.rank()), 1);
  for (int i = x.rank() - 2; i >= 0; --i) {
    auto at = static_cast<size_t>(i);
    strides[at] = strides[at + 1] * x[i + 1];
  }
  std::vector<TransposeAxis> axes;  // innermost first
  int64_t to = 1;
  for (int i = y.rank() - 1; i >= 0; --i) {
    int64_t from = strides[static_cast<size_t>(op.axes()[static_cast<size_t>(i)])];
    if (y[i] > 1) {  // an axis of length 1 moves nothing
      // Indices of this axis go on in x where those of the axis inside end: both are one axis.
      bool joins = !axes.empty() && from == axes.back().from * axes.back().length;
      if (joins) {
        axes.back().length *= y[i];
      } else {
        axes.push_back({y[i], to, from});
      }
    }
    to *= y[i];
  }
  if (axes.empty()) axes.push_back({});
  return axes;
}

}  // namespace spire
