#include "kernels/ops/gather/gather.h"

#include <cmath>

#include <tests/kernels/op_test.h>

namespace spire::testing {
namespace {

// y[outer, k, inner] = x[outer, indices[k], inner]
std::vector<HostTensor> taken(std::span<const HostTensor> in, int axis) {
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

class GatherTest : public OpTest {};

TEST_P(GatherTest, ValuesAndGradientsAlongEachAxis) {
  for (int axis = 0; axis < 3; ++axis) {
    OpCase test;
    test.op = std::make_shared<GatherOp>(axis);
    test.inputs = {activation(uniform({4, 5, 6}, 351)), labels({{6}, {3, 0, 3, 1, 3, 2}})};
    test.reference = [axis](std::span<const HostTensor> in) { return taken(in, axis); };
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
    test.reference = [](std::span<const HostTensor> in) { return taken(in, 0); };
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

SPIRE_TEST_EVERYWHERE(GatherTest);

TEST(GatherOp, RefusesInputsThatDoNotFit) {
  TensorSpec x{{4, 5}, DType::f32}, indices{{3}, DType::i32};
  EXPECT_EQ(GatherOp(1).infer(std::vector{x, indices})[0].shape, (Shape{4, 3}));
  EXPECT_THROW(GatherOp(2).infer(std::vector{x, indices}), Error);
  EXPECT_THROW(GatherOp(0).infer(std::vector{x, x}), Error);
  EXPECT_THROW(GatherOp(0).infer(std::vector{indices, indices}), Error);
  EXPECT_THROW(GatherBackwardOp(0, 9).infer(std::vector{x, indices}), Error);
}

}  // namespace
}  // namespace spire::testing
