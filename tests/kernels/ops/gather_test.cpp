#include "kernels/ops/gather/gather.h"

#include <array>
#include <cmath>

#include <tests/kernels/op_test.h>

namespace spire::testing {
namespace {

// y[outer, k, inner] = x[outer, indices[k], inner]
std::vector<HostTensor> taken(Tensors in, int axis) {
  const HostTensor &x = in[0], &indices = in[1];
  Shape shape = x.shape;
  shape[axis] = indices.size();
  int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  HostTensor y = zeros(shape);
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t k = i / inner % indices.size(), outer = i / inner / indices.size();
    y[i] = x[(outer * x.shape[axis] + static_cast<int64_t>(indices[k])) * inner + i % inner];
  }
  return {y};
}

SPIRE_OP_TEST(GatherTest);

TEST_P(GatherTest, ValuesAndGradientsAlongEachAxis) {
  for (int axis = 0; axis < 3; ++axis) {
    OpCase test(GatherOp(axis),
                {activation(uniform({4, 5, 6}, 351)), labels({{6}, {3, 0, 3, 1, 3, 2}})},
                [axis](Tensors in) { return taken(in, axis); });
    check_op(test, GetParam());
  }
}

// Rows of whole packs of a GPU and others; every index occurs many times.
TEST_P(GatherTest, RowsOfPacks) {
  for (Shape shape : {Shape{9, 24}, {9, 2, 32}, {9, 20}}) {
    OpCase test;
    test.op = std::make_shared<GatherOp>(0);
    HostTensor indices = uniform({300}, 352, 0, 9);
    for (double& index : indices.data) index = std::floor(index);
    test.inputs = {activation(uniform(shape, 353)), labels(indices)};
    test.reference = [](Tensors in) { return taken(in, 0); };
    test.gradient_samples = 40;
    check_op(test, GetParam());
  }
}

TEST_P(GatherTest, IndexOutOfRangeMakesNaNAndHasNoGradient) {
  HostTensor x{{2, 2}, {1, 2, 3, 4}};
  Input wrong = labels({{3}, {1, 2, -1}});
  auto y = run_op(GatherOp(1), std::vector{activation(x), wrong}, GetParam())[0];
  for (int64_t i : {1, 2, 4, 5}) EXPECT_TRUE(std::isnan(y[i])) << i;
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[3], 4);
  HostTensor dy{{2, 3}, {1, 2, 3, 4, 5, 6}};
  auto dx = run_op(GatherBackwardOp(1, 2), std::vector{activation(dy), wrong}, GetParam())[0];
  EXPECT_EQ(dx.data, (std::vector<double>{0, 1, 0, 4}));
}

// 256 + 1 is not a bf16 number: the sum is rounded once, at its end.
TEST_P(GatherTest, SumsInFp32) {
  HostTensor dy{{3}, {256, 1, 1}};
  auto dx = run_op(GatherBackwardOp(0, 1), std::vector{activation(dy), labels({{3}, {0, 0, 0}})},
                   GetParam())[0];
  EXPECT_EQ(dx[0], 258);
}

TEST(GatherOp, RefusesInputsThatDoNotFit) {
  TensorSpec x{{4, 5}, DType::f32}, indices{{3}, DType::i32};
  EXPECT_EQ(GatherOp(1).infer(std::vector{x, indices})[0].shape, (Shape{4, 3}));
  EXPECT_THROW(GatherOp(2).infer(std::vector{x, indices}), Error);
  EXPECT_THROW(GatherOp(0).infer(std::vector{x, x}), Error);
  EXPECT_THROW(GatherOp(0).infer(std::vector{indices, indices}), Error);
  EXPECT_THROW(GatherBackwardOp(0, 9).infer(std::vector{x, indices}), Error);
}

// y[i] = table[ids[i]]
std::vector<HostTensor> embedding_reference(Tensors in) {
  const HostTensor &ids = in[0], &table = in[1];
  int64_t width = table.shape[1];
  std::vector<int64_t> dims(ids.shape.dims().begin(), ids.shape.dims().end());
  dims.push_back(width);
  HostTensor y = zeros(Shape(dims));
  for (int64_t i = 0; i < y.size(); ++i) {
    y[i] = table[static_cast<int64_t>(ids[i / width]) * width + i % width];
  }
  return {y};
}

HostTensor random_ids(Shape shape, int64_t vocabulary) {
  HostTensor ids = uniform(shape, 311, 0, static_cast<double>(vocabulary));
  for (double& id : ids.data) id = std::floor(id);
  return ids;
}

OpCase embedding_case(Shape ids, int64_t vocabulary, int64_t width, DType dtype) {
  OpCase test(EmbeddingOp(EmbeddingAttributes{dtype}),
              {labels(random_ids(ids, vocabulary)), parameter(uniform({vocabulary, width}, 312))},
              embedding_reference);
  return test;
}

SPIRE_OP_TEST(EmbeddingTest);

// Places share ids, so that rows of the gradient are sums.
TEST_P(EmbeddingTest, ValuesAndGradients) {
  DType dtype = GetParam().dtype;
  check_op(embedding_case({2, 5}, 7, 3, dtype), GetParam());
  check_op(embedding_case({4, 9}, 3, 40, dtype), GetParam());
  check_op(embedding_case({11}, 20, 16, dtype), GetParam());
}

// Gradients of one id are added one by one to the addend.
TEST_P(EmbeddingTest, AddsToTheGradientOfOtherUses) {
  HostTensor ids{{4}, {1, 0, 1, 1}}, dy{{4, 2}, {1, 2, 4, 8, 16, 32, 64, 128}};
  HostTensor addend{{3, 2}, {0.5, 0.25, 0, -1, 7, 9}};
  std::vector<Input> inputs = {activation(dy), labels(ids), statistic(addend)};
  auto sum = run_op(EmbeddingBackwardOp(3), inputs, GetParam())[0];
  EXPECT_EQ(sum.data, (std::vector<double>{4.5, 8.25, 81, 161, 7, 9}));
}

// Ids of more than eight bits, and more positions than a block of threads takes. Each row is the
// sum of its positions' rows in their order, to the bit.
TEST_P(EmbeddingTest, SumsPositionsInTheirOrder) {
  for (auto [places, vocabulary, width] :
       {std::array<int64_t, 3>{1500, 700, 8}, {2100, 3, 5}, {66000, 300, 1}}) {
    HostTensor ids = random_ids({places}, vocabulary + 2);  // some are outside
    HostTensor sums = zeros({vocabulary, width});
    HostTensor dy = uniform({places, width}, 313);
    for (int64_t i = 0; i < dy.size(); ++i) {
      dy[i] =
          std::ldexp(std::round(dy[i] * 64), static_cast<int>(i % 21) - 12);  // exact in 16 bits
      if (ids[i / width] >= static_cast<double>(vocabulary)) continue;
      double& sum = sums[static_cast<int64_t>(ids[i / width]) * width + i % width];
      sum = static_cast<float>(sum) + static_cast<float>(dy[i]);
    }
    std::vector<Input> inputs = {activation(dy), labels(ids)};
    auto dtable = run_op(EmbeddingBackwardOp(vocabulary), inputs, GetParam())[0];
    EXPECT_EQ(dtable.data, sums.data) << places << " places";
  }
}

TEST_P(EmbeddingTest, IdOutOfRangeMakesItsRowNaNAndHasNoGradient) {
  HostTensor ids{{3}, {2, -1, 1}}, dy{{3, 2}, {1, 2, 3, 4, 5, 6}};
  std::vector<Input> inputs = {labels(ids), parameter({{2, 2}, {1, 2, 3, 4}})};
  auto y = run_op(EmbeddingOp({GetParam().dtype}), inputs, GetParam())[0];
  for (int64_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
  EXPECT_EQ(y[4], 3);
  EXPECT_EQ(y[5], 4);
  std::vector<Input> back = {activation(dy), labels(ids)};
  auto dtable = run_op(EmbeddingBackwardOp(2), back, GetParam())[0];
  EXPECT_EQ(dtable.data, (std::vector<double>{0, 0, 5, 6}));
}

TEST(EmbeddingOp, RefusesInputsThatDoNotFit) {
  TensorSpec ids{{4, 2}, DType::i32}, table{{10, 3}, DType::f32}, dy{{4, 2, 3}, DType::bf16};
  EXPECT_EQ(EmbeddingOp({DType::bf16}).infer(std::vector{ids, table})[0], dy);
  EXPECT_THROW(EmbeddingOp().infer(std::vector{table, table}), Error);
  EXPECT_THROW(EmbeddingOp().infer(std::vector{ids, dy}), Error);
  EXPECT_EQ(EmbeddingBackwardOp(10).infer(std::vector{dy, ids, table})[0], table);
  EXPECT_THROW(EmbeddingBackwardOp(11).infer(std::vector{dy, ids, table}), Error);
  EXPECT_THROW(EmbeddingBackwardOp(10).infer(std::vector{table, ids}), Error);
}

}  // namespace
}  // namespace spire::testing
