// Shapes and gradients of gather and embedding. A table may be large, so its gradient is added to
// what other ops have contributed already (take_gradient) instead of in one more pass.
#include "kernels/ops/gather/gather.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

namespace {

void expect_axis(const Op& op, TensorSpecs inputs, int axis) {
  expect_inputs(op, inputs, 2, 2);
  expect(op, is_float_type(inputs[0].dtype), "cannot compute on {}", to_string(inputs[0]));
  expect(op, axis >= 0 && axis < inputs[0].shape.rank(), "{} has no axis {}", to_string(inputs[0]),
         axis);
  expect(op, inputs[1].dtype == DType::i32 && inputs[1].shape.rank() == 1,
         "takes indices i32 (K), got {}", to_string(inputs[1]));
}

}  // namespace

std::vector<TensorSpec> GatherOp::infer(TensorSpecs inputs) const {
  expect_axis(*this, inputs, axis_);
  // y is x with K indices in the axis.
  TensorSpec y = inputs[0];
  y.shape[axis_] = inputs[1].shape[0];
  return {y};
}

void GatherOp::gradient(GradientBuilder& builder) const {
  // The length of x's axis does not follow from dy or from the indices.
  int64_t length = builder.spec(builder.input(0)).shape[axis_];
  emit_gradient<GatherBackwardOp>(builder, 0, {builder.output_gradient(0), builder.input(1)}, axis_,
                                  length);
}

std::vector<TensorSpec> GatherBackwardOp::infer(TensorSpecs inputs) const {
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

std::vector<TensorSpec> EmbeddingOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  const TensorSpec &ids = inputs[0], &table = inputs[1];
  expect(*this, ids.dtype == DType::i32 && ids.shape.rank() < Shape::max_rank,
         "takes ids i32, got {}", to_string(ids));
  expect(*this, table.dtype == DType::f32 && table.shape.rank() == 2 && table.shape.elements() > 0,
         "takes a table fp32 (V, C), got {}", to_string(table));
  expect(*this, is_float_type(attributes_.dtype), "cannot make {}",
         spire::to_string(attributes_.dtype));
  // y (.., C): the axes of the ids, and the columns of the table.
  std::vector<int64_t> dims(ids.shape.dims().begin(), ids.shape.dims().end());
  dims.push_back(table.shape[1]);
  return {{Shape(dims), attributes_.dtype}};
}

void EmbeddingOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy || !builder.wants_gradient(1)) return;
  std::vector<Value> inputs = {dy, builder.input(0)};
  if (Value gathered = builder.take_gradient(1)) inputs.push_back(gathered);
  emit_gradient<EmbeddingBackwardOp>(builder, 1, inputs, builder.spec(builder.input(1)).shape[0]);
}

std::vector<TensorSpec> EmbeddingBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 3);
  const TensorSpec &dy = inputs[0], &ids = inputs[1];
  // dy has the axes of the ids before its columns.
  bool rows = dy.shape.rank() == ids.shape.rank() + 1 && is_float_type(dy.dtype);
  for (int axis = 0; rows && axis < ids.shape.rank(); ++axis) {
    rows = dy.shape[axis] == ids.shape[axis];
  }
  expect(*this, rows && ids.dtype == DType::i32,
         "takes a gradient (.., C) and ids (..), got {}, {}", to_string(dy), to_string(ids));
  TensorSpec table{{vocabulary_, dy.shape.back()}, DType::f32};
  if (inputs.size() == 3) expect_like(*this, inputs[2], table, "the addend");
  return {table};
}

}  // namespace spire
