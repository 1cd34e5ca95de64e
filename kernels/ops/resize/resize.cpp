// Shapes, gradients and taps of resize.
#include "kernels/ops/resize/resize.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

namespace {

std::vector<TensorSpec> resized(const Op& op, TensorSpecs inputs, Extent2d size) {
  expect_inputs(op, inputs, 1, 1);
  const TensorSpec& x = inputs[0];
  expect_nhwc(op, x);
  expect(op, size.h > 0 && size.w > 0, "cannot resize to {}", to_string(size));
  return {{{x.shape[0], size.h, size.w, x.shape[3]}, x.dtype}};
}

}  // namespace

ResizeTaps resize_taps(Resize kind, int64_t from, int64_t to) {
  ResizeTaps taps;
  for (int64_t i = 0; i < to; ++i) {
    auto [at, count] = ResizeAxis{kind, from, to}.taps(i);
    taps.emplace_back(at, at + count);
  }
  return taps;
}

// Positions are visited in ascending order, so the taps of each source are ascending, too.
ResizeTaps transposed(const ResizeTaps& taps, int64_t from) {
  ResizeTaps result(static_cast<size_t>(from));
  for (size_t i = 0; i < taps.size(); ++i) {
    for (const ResizeTap& tap : taps[i]) {
      result[static_cast<size_t>(tap.source)].push_back({static_cast<int64_t>(i), tap.weight});
    }
  }
  return result;
}

std::vector<TensorSpec> ResizeOp::infer(TensorSpecs inputs) const {
  return resized(*this, inputs, attributes_.size);
}

void ResizeOp::gradient(GradientBuilder& builder) const {
  ResizeAttributes back{attributes_.kind, extent_of(builder.spec(builder.input(0)).shape)};
  emit_gradient<ResizeBackwardOp>(builder, 0, {builder.output_gradient(0)}, back);
}

std::vector<TensorSpec> ResizeBackwardOp::infer(TensorSpecs inputs) const {
  return resized(*this, inputs, attributes_.size);
}

}  // namespace spire
