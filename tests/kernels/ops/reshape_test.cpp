#include "kernels/ops/reshape/reshape.h"

#include <tests/kernels/op_test.h>

namespace spire::testing {
namespace {

// The same elements in another shape: no kernel runs.
OpCase view_case(std::shared_ptr<const Op> op, Shape from, Shape to) {
  OpCase test;
  test.op = std::move(op);
  test.inputs = {activation(uniform(from, 61))};
  test.reference = [to](std::span<const HostTensor> in) {
    return std::vector<HostTensor>{{to, in[0].data}};
  };
  test.value_factor = test.gradient_factor = 0;  // exact
  return test;
}

class ReshapeTest : public OpTest {};

// -1 stands for the length that the others leave.
TEST_P(ReshapeTest, KeepsElementsAndGradients) {
  check_op(view_case(std::make_shared<ReshapeOp>(Shape{4, 6}), {2, 3, 4}, {4, 6}), GetParam());
  check_op(view_case(std::make_shared<ReshapeOp>(Shape{2, -1, 2}), {2, 3, 4}, {2, 6, 2}),
           GetParam());
  check_op(view_case(std::make_shared<FlattenOp>(), {2, 3, 4}, {2, 12}), GetParam());
  check_op(view_case(std::make_shared<FlattenOp>(), {5}, {5, 1}), GetParam());
}

SPIRE_TEST_EVERYWHERE(ReshapeTest);

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
