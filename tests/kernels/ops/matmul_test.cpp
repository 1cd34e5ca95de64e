#include "kernels/ops/matmul/matmul.h"

#include <fmt/format.h>
#include <tests/kernels/matrix_views.h>

namespace spire::testing {
namespace {

// y = a b for each pair of matrices, each transposed where `t` says so.
HostTensor multiply(MatmulAttributes t, const HostTensor& a, const HostTensor& b, Shape out) {
  HostTensor y = zeros(out);
  for (int64_t i = 0; i < out.elements() / (out.back() * out[out.rank() - 2]); ++i) {
    RowMajorMatrix left = matrix_of(a, i), right = matrix_of(b, i);
    if (t.transpose_a) left.transposeInPlace();
    if (t.transpose_b) right.transposeInPlace();
    matrix_of(y, i) = left * right;
  }
  return y;
}

// (leading.., rows, columns) in memory, for a matrix that is used transposed or as it is.
Shape matrices(std::vector<int64_t> leading, int64_t rows, int64_t columns, bool transposed) {
  leading.push_back(transposed ? columns : rows);
  leading.push_back(transposed ? rows : columns);
  return Shape(std::span<const int64_t>(leading));
}

OpCase matmul_case(std::vector<int64_t> leading, int64_t m, int64_t k, int64_t n,
                   MatmulAttributes t) {
  OpCase test;
  test.op = std::make_shared<MatmulOp>(t);
  test.inputs = {activation(uniform(matrices(leading, m, k, t.transpose_a), 1)),
                 activation(uniform(matrices(leading, k, n, t.transpose_b), 2))};
  Shape out = matrices(leading, m, n, false);
  test.reference = [=](Tensors in) { return multiply(t, in[0], in[1], out); };
  test.magnitude = [=](Tensors in) { return test.reference(absolute(in)); };
  test.gradient_samples = 30;
  return test;
}

SPIRE_OP_TEST(MatmulTest);

TEST_P(MatmulTest, EveryTransposition) {
  for (bool transpose_a : {false, true}) {
    for (bool transpose_b : {false, true}) {
      SCOPED_TRACE(fmt::format("transpose_a {} transpose_b {}", transpose_a, transpose_b));
      check_op(matmul_case({}, 5, 7, 3, {transpose_a, transpose_b}), GetParam());
      check_op(matmul_case({2, 3}, 4, 17, 6, {transpose_a, transpose_b}), GetParam());
    }
  }
}

// Products where one of M, K and N is 1.
TEST_P(MatmulTest, VectorsAndScalars) {
  check_op(matmul_case({}, 1, 1, 1, {}), GetParam());
  check_op(matmul_case({3}, 1, 9, 4, {}), GetParam());
  check_op(matmul_case({3}, 4, 1, 5, {false, true}), GetParam());
  check_op(matmul_case({2}, 6, 40, 1, {true, false}), GetParam());
}

TEST(MatmulShapes, SaysWhatDoesNotFit) {
  EXPECT_EQ(refusal(MatmulOp(), {f32({2, 3}), f32({4, 5})}),
            "[matmul] (2, 3) and (4, 5) cannot be multiplied: 3 columns, 4 rows");
  EXPECT_EQ(refusal(MatmulOp({.transpose_a = true}), {f32({2, 3}), f32({4, 5})}),
            "[matmul] (2, 3) transposed and (4, 5) cannot be multiplied: 2 columns, 4 rows");
  EXPECT_EQ(refusal(MatmulOp(), {f32({7, 2, 3}), f32({8, 3, 5})}),
            "[matmul] leading axes of (7, 2, 3) and (8, 3, 5) differ");
  EXPECT_EQ(refusal(MatmulOp(), {f32({2, 3}), f32({1, 3, 5})}),
            "[matmul] takes inputs (.., M, K) and (.., K, N) of equal rank, got (2, 3) and "
            "(1, 3, 5)");
  EXPECT_EQ(refusal(MatmulOp(), {f32({2, 3}), {{3, 5}, DType::bf16}}),
            "[matmul] takes two inputs of fp32, of bf16 or of fp16, got fp32 and bf16");
}

}  // namespace
}  // namespace spire::testing
