// Shapes, gradient and work of the batched product.
#include "kernels/ops/matmul/matmul.h"

#include "kernels/expect.h"

namespace spire {

std::vector<TensorSpec> MatmulOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  const TensorSpec &a = inputs[0], &b = inputs[1];
  int rank = a.shape.rank();
  expect(*this, is_float_type(a.dtype) && a.dtype == b.dtype,
         "takes two inputs of fp32, of bf16 or of fp16, got {} and {}", spire::to_string(a.dtype),
         spire::to_string(b.dtype));
  expect(*this, rank >= 2 && rank == b.shape.rank() && a.shape.elements() > 0,
         "takes inputs (.., M, K) and (.., K, N) of equal rank, got {} and {}", to_string(a.shape),
         to_string(b.shape));
  // Leading axes are a batch of products; none is broadcast.
  for (int axis = 0; axis < rank - 2; ++axis) {
    expect(*this, a.shape[axis] == b.shape[axis], "leading axes of {} and {} differ",
           to_string(a.shape), to_string(b.shape));
  }
  const auto [transpose_a, transpose_b] = attributes_;
  int64_t k_of_a = a.shape[transpose_a ? rank - 2 : rank - 1];
  int64_t k_of_b = b.shape[transpose_b ? rank - 1 : rank - 2];
  expect(*this, k_of_a == k_of_b, "{}{} and {}{} cannot be multiplied: {} columns, {} rows",
         to_string(a.shape), transpose_a ? " transposed" : "", to_string(b.shape),
         transpose_b ? " transposed" : "", k_of_a, k_of_b);
  TensorSpec y = a;
  y.shape[rank - 2] = a.shape[transpose_a ? rank - 1 : rank - 2];
  y.shape[rank - 1] = b.shape[transpose_b ? rank - 2 : rank - 1];
  return {y};
}

int64_t MatmulOp::multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const {
  const Shape& a = inputs[0].shape;
  return outputs[0].shape.elements() * a[a.rank() - (attributes_.transpose_a ? 2 : 1)];
}

// da' = dy b'^T and db' = a'^T dy; of a transposed input the transpose of that.
void MatmulOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0), a = builder.input(0), b = builder.input(1);
  const auto [ta, tb] = attributes_;
  auto product = [&](Value left, bool transpose_left, Value right, bool transpose_right) {
    MatmulAttributes attributes{transpose_left, transpose_right};
    return builder.emit(std::make_unique<MatmulOp>(attributes), {left, right})[0];
  };
  if (builder.wants_gradient(0)) {
    builder.set_gradient(0, ta ? product(b, tb, dy, true) : product(dy, false, b, !tb));
  }
  if (builder.wants_gradient(1)) {
    builder.set_gradient(1, tb ? product(dy, true, a, ta) : product(a, !ta, dy, false));
  }
}

}  // namespace spire
