// Shapes and gradient of gather.
#include "kernels/ops/gather/gather.h"

#include <spire/op_checks.h>

namespace spire {

namespace {

void expect_axis(const Op& op, std::span<const TensorSpec> inputs, int axis) {
  expect_inputs(op, inputs, 2, 2);
  expect(op, is_float_type(inputs[0].dtype), "cannot compute on {}", to_string(inputs[0]));
  expect(op, axis >= 0 && axis < inputs[0].shape.rank(), "{} has no axis {}", to_string(inputs[0]),
         axis);
  expect(op, inputs[1].dtype == DType::i32 && inputs[1].shape.rank() == 1,
         "takes indices i32 (K), got {}", to_string(inputs[1]));
}

}  // namespace

std::vector<TensorSpec> GatherOp::infer(std::span<const TensorSpec> inputs) const {
  expect_axis(*this, inputs, axis_);
  // y is x with K indices in the axis.
  TensorSpec y = inputs[0];
  y.shape[axis_] = inputs[1].shape[0];
  return {y};
}

void GatherOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy || !builder.wants_gradient(0)) return;
  // The length of x's axis does not follow from dy or from the indices.
  int64_t length = builder.spec(builder.input(0)).shape[axis_];
  auto backward = std::make_unique<GatherBackwardOp>(axis_, length);
  builder.set_gradient(0, builder.emit(std::move(backward), {dy, builder.input(1)})[0]);
}

std::vector<TensorSpec> GatherBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  expect_axis(*this, inputs, axis_);
  expect(*this, inputs[0].shape[axis_] == inputs[1].shape[0], "{} indices do not fit {}",
         inputs[1].shape[0], to_string(inputs[0]));
  TensorSpec dx = inputs[0];
  dx.shape[axis_] = length_;
  return {dx};
}

// Declared in cuda/segmented_sum.h, which includes CUDA.
[[noreturn]] void refuse_sort(int64_t positions, int64_t ids);
void refuse_sort(int64_t positions, int64_t ids) {
  fail(Category::unexpected, "{} positions of {} ids are too many to sort", positions, ids);
}

}  // namespace spire
