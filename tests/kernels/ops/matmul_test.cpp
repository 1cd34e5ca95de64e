#include "kernels/ops/matmul/matmul.h"

#include <tests/kernels/op_test.h>

namespace spire::testing {

namespace {

HostTensor multiply(MatmulAttributes t, const HostTensor& a, const HostTensor& b, int64_t batch,
                    int64_t m, int64_t k, int64_t n, Shape out) {
  HostTensor y = zeros(out);
  for (int64_t e = 0; e < batch * m * n; ++e) {
    int64_t at = e / (m * n), row = e / n % m, column = e % n;
    for (int64_t i = 0; i < k; ++i) {
      y[e] += a[at * m * k + (t.transpose_a ? i * m + row : row * k + i)] *
              b[at * k * n + (t.transpose_b ? column * k + i : i * n + column)];
    }
  }
  return y;
}

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
  test.reference = [=](std::span<const HostTensor> in) {
    int64_t batch = out.elements() / (m * n);
    return std::vector<HostTensor>{multiply(t, in[0], in[1], batch, m, k, n, out)};
  };
  test.magnitude = [=](std::span<const HostTensor> in) { return test.reference(absolute(in)); };
  test.gradient_samples = 30;
  return test;
}

class MatmulTest : public OpTest {};

}  // namespace

TEST_P(MatmulTest, EveryTransposition) {
  for (bool transpose_a : {false, true}) {
    for (bool transpose_b : {false, true}) {
      SCOPED_TRACE(fmt::format("transpose_a {} transpose_b {}", transpose_a, transpose_b));
      check_op(matmul_case({}, 5, 7, 3, {transpose_a, transpose_b}), GetParam());
      check_op(matmul_case({2, 3}, 4, 17, 6, {transpose_a, transpose_b}), GetParam());
    }
  }
}

TEST_P(MatmulTest, VectorsAndScalars) {
  check_op(matmul_case({}, 1, 1, 1, {}), GetParam());
  check_op(matmul_case({3}, 1, 9, 4, {}), GetParam());
  check_op(matmul_case({3}, 4, 1, 5, {false, true}), GetParam());
  check_op(matmul_case({2}, 6, 40, 1, {true, false}), GetParam());
}

SPIRE_TEST_EVERYWHERE(MatmulTest);

TEST(MatmulShapes, SaysWhatDoesNotFit) {
  auto refusal = [](MatmulAttributes t, Shape a, Shape b, DType b_dtype = DType::f32) {
    std::vector<TensorSpec> inputs{{a, DType::f32}, {b, b_dtype}};
    try {
      MatmulOp(t).infer(inputs);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal({}, {2, 3}, {4, 5}),
            "[matmul] (2, 3) and (4, 5) cannot be multiplied: 3 columns, 4 rows");
  EXPECT_EQ(refusal({.transpose_a = true}, {2, 3}, {4, 5}),
            "[matmul] (2, 3) transposed and (4, 5) cannot be multiplied: 2 columns, 4 rows");
  EXPECT_EQ(refusal({}, {7, 2, 3}, {8, 3, 5}),
            "[matmul] leading axes of (7, 2, 3) and (8, 3, 5) differ");
  EXPECT_EQ(refusal({}, {2, 3}, {1, 3, 5}),
            "[matmul] takes inputs (.., M, K) and (.., K, N) of equal rank, got (2, 3) and "
            "(1, 3, 5)");
  EXPECT_EQ(refusal({}, {2, 3}, {3, 5}, DType::bf16),
            "[matmul] takes two inputs of fp32 or of bf16, got fp32 and bf16");
}

}  // namespace spire::testing
