#include <array>
#include <cmath>

#include <tests/kernels/op_test.h>

#include "kernels/ops/gather/gather.h"

namespace spire::testing {
namespace {

// y[i] = table[ids[i]]
std::vector<HostTensor> embedding_reference(std::span<const HostTensor> in) {
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
  OpCase test;
  test.op = std::make_shared<EmbeddingOp>(EmbeddingAttributes{dtype});
  test.inputs = {labels(random_ids(ids, vocabulary)), parameter(uniform({vocabulary, width}, 312))};
  test.reference = embedding_reference;
  return test;
}

class EmbeddingTest : public OpTest {};

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

SPIRE_TEST_EVERYWHERE(EmbeddingTest);

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
