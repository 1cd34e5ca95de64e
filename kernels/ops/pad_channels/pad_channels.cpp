#include "kernels/ops/pad_channels/pad_channels.h"

#include "kernels/float_type.h"
#include "kernels/ops/concat/concat.h"

namespace spire::inline kernels {

std::vector<TensorSpec> PadChannelsOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  const TensorSpec& x = inputs[0];
  expect(*this, is_float_type(x.dtype) && x.shape.rank() >= 1 && x.shape.elements() > 0,
         "cannot pad {}", to_string(x));
  expect(*this, x.shape.back() < channels_, "{} has {} channels, which is not fewer than {}",
         to_string(x.shape), x.shape.back(), channels_);
  TensorSpec y = x;
  y.shape[y.shape.rank() - 1] = channels_;
  return {y};
}

void PadChannelsOp::gradient(GradientBuilder& builder) const {
  if (!builder.wants_gradient(0)) return;
  const Shape& x = builder.spec(builder.input(0)).shape;
  auto slice = std::make_unique<SliceOp>(x.rank() - 1, 0, x.back());
  builder.set_gradient(0, builder.emit(std::move(slice), {builder.output_gradient(0)})[0]);
}

}  // namespace spire::inline kernels
