// Shapes and gradient of embedding. The table may be large, so its gradient is added to what other
// ops have contributed already (take_gradient) instead of in one more pass.
#include "kernels/ops/embedding/embedding.h"

#include <spire/op_checks.h>

namespace spire {

std::vector<TensorSpec> EmbeddingOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  const TensorSpec &ids = inputs[0], &table = inputs[1];
  expect(*this, ids.dtype == DType::i32 && ids.shape.rank() < Shape::max_rank,
         "takes ids i32, got {}", to_string(ids));
  expect(*this, table.dtype == DType::f32 && table.shape.rank() == 2 && table.shape.elements() > 0,
         "takes a table fp32 (V, C), got {}", to_string(table));
  expect(*this, is_float_type(attributes_.dtype), "cannot make {}", spire::name(attributes_.dtype));
  // y (.., C): the axes of the ids, and the columns of the table.
  std::vector<int64_t> dims(ids.shape.dims().begin(), ids.shape.dims().end());
  dims.push_back(table.shape[1]);
  return {{Shape(dims), attributes_.dtype}};
}

void EmbeddingOp::gradient(GradientBuilder &builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy || !builder.wants_gradient(1)) return;
  std::vector<Value> inputs = {dy, builder.input(0)};
  if (Value gathered = builder.take_gradient(1)) inputs.push_back(gathered);
  auto backward = std::make_unique<EmbeddingBackwardOp>(builder.spec(builder.input(1)).shape[0]);
  builder.set_gradient(1, builder.emit(std::move(backward), inputs)[0]);
}

std::vector<TensorSpec> EmbeddingBackwardOp::infer(std::span<const TensorSpec> inputs) const {
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
  if (inputs.size() == 3) {
    expect(*this, inputs[2] == table, "the addend must be {}, got {}", to_string(table),
           to_string(inputs[2]));
  }
  return {table};
}

}  // namespace spire
