// Shapes and gradients of concat, slice and pad_channels. Gradients are slices and their inverse.
#include "kernels/ops/concat/concat.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

int64_t rows_before_axis(const TensorSpec& spec, int axis) {
  int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= spec.shape[i];
  return rows;
}

size_t bytes_from_axis(const TensorSpec& spec, int axis) {
  size_t bytes = size_of(spec.dtype);
  for (int i = axis; i < spec.shape.rank(); ++i) bytes *= static_cast<size_t>(spec.shape[i]);
  return bytes;
}

std::vector<TensorSpec> ConcatOp::infer(TensorSpecs inputs) const {
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
    emit_gradient<SliceOp>(builder, i, {dy}, SliceAttributes{axis, begin, length});
    begin += length;
  }
}

std::vector<TensorSpec> SliceOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  TensorSpec part = inputs[0];
  const auto [axis, begin, length] = attributes_;
  expect(*this, axis >= 0 && axis < part.shape.rank(), "{} has no axis {}", to_string(part), axis);
  expect(*this, begin >= 0 && length >= 0 && begin + length <= part.shape[axis],
         "[{}, {}) is outside axis {} of {}", begin, begin + length, axis, to_string(part));
  part.shape[axis] = length;
  return {part};
}

void SliceOp::gradient(GradientBuilder& builder) const {
  SliceAttributes back = attributes_;
  back.length = builder.spec(builder.input(0)).shape[back.axis];
  emit_gradient<SliceBackwardOp>(builder, 0, {builder.output_gradient(0)}, back);
}

std::vector<TensorSpec> SliceBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  TensorSpec whole = inputs[0];
  const auto [axis, begin, length] = attributes_;
  expect(*this, axis >= 0 && axis < whole.shape.rank(), "{} has no axis {}", to_string(whole),
         axis);
  expect(*this, begin >= 0 && begin + whole.shape[axis] <= length,
         "{} does not fit into {} of axis {} from {} on", to_string(whole), length, axis, begin);
  whole.shape[axis] = length;
  return {whole};
}

std::vector<TensorSpec> PadChannelsOp::infer(TensorSpecs inputs) const {
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
  const Shape x = builder.spec(builder.input(0)).shape;
  // The zeros have no gradient.
  SliceAttributes first{x.rank() - 1, 0, x.back()};
  emit_gradient<SliceOp>(builder, 0, {builder.output_gradient(0)}, first);
}

}  // namespace spire
