// Shapes and gradients of concat, slice and pad_channels. Gradients are slices and their inverse.
#include "kernels/ops/concat/concat.h"

#include <spire/op_checks.h>

namespace spire {

size_t bytes_from_axis(const TensorSpec& spec, int axis) {
  size_t bytes = size_of(spec.dtype);
  for (int i = axis; i < spec.shape.rank(); ++i) bytes *= static_cast<size_t>(spec.shape[i]);
  return bytes;
}

std::vector<TensorSpec> ConcatOp::infer(std::span<const TensorSpec> inputs) const {
  expect(*this, !inputs.empty(), "takes at least one input");
  TensorSpec joined = inputs[0];
  int axis = axis_of(joined);
  expect(*this, axis >= 0 && axis < joined.shape.rank(), "{} has no axis {}", to_string(joined),
         axis_);
  for (const TensorSpec& part : inputs.subspan(1)) {
    TensorSpec like = joined;
    // All but the axis must be equal: rank, dtype and the other dimensions.
    if (part.shape.rank() == like.shape.rank()) like.shape[axis] = part.shape[axis];
    expect(*this, part == like, "cannot join {} and {} along axis {}", to_string(inputs[0]),
           to_string(part), axis);
    joined.shape[axis] += part.shape[axis];
  }
  return {joined};
}

void ConcatOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy) return;
  int axis = axis_of(builder.spec(dy));
  int64_t begin = 0, end = builder.spec(dy).shape[axis];
  // Inputs follow one another along the axis; `begin` is where input i begins in y.
  for (int i = 0; begin < end; ++i) {
    int64_t length = builder.spec(builder.input(i)).shape[axis];
    if (builder.wants_gradient(i)) {
      auto part = builder.emit(std::make_unique<SliceOp>(axis, begin, length), {dy});
      builder.set_gradient(i, part[0]);
    }
    begin += length;
  }
}

std::vector<TensorSpec> SliceOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  TensorSpec part = inputs[0];
  expect(*this, axis_ >= 0 && axis_ < part.shape.rank(), "{} has no axis {}", to_string(part),
         axis_);
  expect(*this, begin_ >= 0 && length_ >= 0 && begin_ + length_ <= part.shape[axis_],
         "[{}, {}) is outside axis {} of {}", begin_, begin_ + length_, axis_, to_string(part));
  part.shape[axis_] = length_;
  return {part};
}

void SliceOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy || !builder.wants_gradient(0)) return;
  int64_t length = builder.spec(builder.input(0)).shape[axis_];
  auto backward = std::make_unique<SliceBackwardOp>(axis_, begin_, length);
  builder.set_gradient(0, builder.emit(std::move(backward), {dy})[0]);
}

std::vector<TensorSpec> SliceBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  TensorSpec whole = inputs[0];
  expect(*this, axis_ >= 0 && axis_ < whole.shape.rank(), "{} has no axis {}", to_string(whole),
         axis_);
  expect(*this, begin_ >= 0 && begin_ + whole.shape[axis_] <= length_,
         "{} does not fit into {} of axis {} from {} on", to_string(whole), length_, axis_, begin_);
  whole.shape[axis_] = length_;
  return {whole};
}

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
  // The zeros have no gradient.
  auto slice = std::make_unique<SliceOp>(x.rank() - 1, 0, x.back());
  builder.set_gradient(0, builder.emit(std::move(slice), {builder.output_gradient(0)})[0]);
}

}  // namespace spire
