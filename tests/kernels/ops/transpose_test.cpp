// Ops that only move elements or change their shape.
#include "kernels/ops/transpose/transpose.h"

#include <algorithm>

#include <tests/kernels/op_test.h>

#include "kernels/ops/reshape/reshape.h"

namespace spire::testing {
namespace {

// y at every index of y, by the strides of x.
std::vector<HostTensor> reordered(const HostTensor& x, const std::vector<int>& axes) {
  int rank = x.shape.rank();
  Shape shape = x.shape;
  std::vector<int64_t> strides(axes.size());
  for (int i = 0; i < rank; ++i) {
    int axis = axes[static_cast<size_t>(i)];
    shape[i] = x.shape[axis];
    strides[static_cast<size_t>(i)] = 1;
    for (int k = axis + 1; k < rank; ++k) strides[static_cast<size_t>(i)] *= x.shape[k];
  }
  HostTensor y = zeros(shape);
  for (int64_t at = 0; at < y.size(); ++at) {
    int64_t left = at, from = 0;
    for (int i = rank - 1; i >= 0; --i) {
      from += left % shape[i] * strides[static_cast<size_t>(i)];
      left /= shape[i];
    }
    y[at] = x[from];
  }
  return {y};
}

OpCase transpose_case(Shape shape, const std::vector<int>& axes) {
  OpCase test(TransposeOp(axes), {activation(uniform(shape, 341))},
              [axes](Tensors in) { return reordered(in[0], axes); });
  test.value_factor = test.gradient_factor = 0;  // exact
  return test;
}

SPIRE_OP_TEST(TransposeTest);

TEST_P(TransposeTest, EveryOrderOfFourAxes) {
  std::vector<int> axes = {0, 1, 2, 3};
  do {
    OpCase test = transpose_case({2, 3, 4, 5}, axes);
    test.gradient_samples = 20;
    check_op(test, GetParam());
  } while (std::next_permutation(axes.begin(), axes.end()));
}

// Shapes that are tiled, copied by rows, or merged to fewer axes, with ragged ends.
TEST_P(TransposeTest, MoreThanATileAndMoreThanAThread) {
  check_values(transpose_case({300, 70}, {1, 0}), GetParam());
  check_values(transpose_case({3, 40, 2, 33, 9}, {0, 3, 2, 1, 4}), GetParam());
  check_values(transpose_case({2, 1, 200, 65}, {1, 0, 3, 2}), GetParam());
  check_values(transpose_case({3, 150, 5}, {0, 2, 1}), GetParam());
  check_values(transpose_case({2, 5, 3, 24}, {0, 2, 1, 3}), GetParam());
  check_values(transpose_case({2, 5, 3, 6}, {2, 0, 1, 3}), GetParam());
  check_values(transpose_case({5}, {0}), GetParam());
  check_values(transpose_case({1, 1}, {1, 0}), GetParam());
}

// Elements are moved by their size, whatever their type.
TEST_P(TransposeTest, MovesIntegers) {
  HostTensor x{{2, 3}, {1, 2, 3, 4, 5, 6}};
  auto y = run_op(TransposeOp({1, 0}), std::vector{labels(x)}, GetParam())[0];
  EXPECT_EQ(y.data, (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST_P(TransposeTest, AnEmptyTensor) {
  auto y = run_op(TransposeOp({1, 0}), std::vector{activation(zeros({0, 3}))}, GetParam())[0];
  EXPECT_EQ(y.shape, (Shape{3, 0}));
}

TEST(TransposeOp, RefusesAxesThatAreNoPermutation) {
  std::vector<TensorSpec> x = {{{2, 3, 4}, DType::f32}};
  EXPECT_EQ(TransposeOp({2, 0, 1}).infer(x)[0].shape, (Shape{4, 2, 3}));
  EXPECT_THROW(TransposeOp({0, 1}).infer(x), Error);
  EXPECT_THROW(TransposeOp({0, 1, 1}).infer(x), Error);
  EXPECT_THROW(TransposeOp({0, 1, 3}).infer(x), Error);
  EXPECT_THROW(TransposeOp({0, 1, -1}).infer(x), Error);
}

// The same elements in another shape: no kernel runs.
OpCase view_case(std::shared_ptr<const Op> op, Shape from, Shape to) {
  OpCase test;
  test.op = std::move(op);
  test.inputs = {activation(uniform(from, 61))};
  test.reference = [to](Tensors in) { return HostTensor{to, in[0].data}; };
  test.value_factor = test.gradient_factor = 0;  // exact
  return test;
}

SPIRE_OP_TEST(ReshapeTest);

// -1 stands for the length that the others leave.
TEST_P(ReshapeTest, KeepsElementsAndGradients) {
  check_op(view_case(std::make_shared<ReshapeOp>(Shape{4, 6}), {2, 3, 4}, {4, 6}), GetParam());
  check_op(view_case(std::make_shared<ReshapeOp>(Shape{2, -1, 2}), {2, 3, 4}, {2, 6, 2}),
           GetParam());
  check_op(view_case(std::make_shared<FlattenOp>(), {2, 3, 4}, {2, 12}), GetParam());
  check_op(view_case(std::make_shared<FlattenOp>(), {5}, {5, 1}), GetParam());
}

TEST(ReshapeOp, RefusesShapesOfAnotherSize) {
  std::vector<TensorSpec> x = {{{2, 3, 4}, DType::bf16}};
  EXPECT_THROW(ReshapeOp({5, 5}).infer(x), Error);
  EXPECT_THROW(ReshapeOp({-1, 7}).infer(x), Error);
  EXPECT_THROW(ReshapeOp({-1, -1}).infer(x), Error);
  EXPECT_THROW(ReshapeOp({-1, 0}).infer(x), Error);
  EXPECT_EQ(ReshapeOp({24}).infer(x)[0], (TensorSpec{{24}, DType::bf16}));
}

}  // namespace
}  // namespace spire::testing
