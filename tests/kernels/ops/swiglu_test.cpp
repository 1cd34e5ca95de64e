#include "kernels/ops/swiglu/swiglu.h"

#include <cmath>

#include <tests/kernels/matrix_views.h>

namespace spire::testing {
namespace {

// y = g / (1 + e^-g) u, of the first and the last half of the columns.
std::vector<HostTensor> gated(std::span<const HostTensor> in) {
  auto x = matrix_of(in[0]).array();
  int64_t width = x.cols() / 2;
  Shape shape = in[0].shape;
  shape[shape.rank() - 1] = width;
  std::vector<HostTensor> out = {zeros(shape)};
  auto g = x.leftCols(width);
  matrix_of(out[0]).array() = g / (1 + (-g).exp()) * x.rightCols(width);
  return out;
}

OpCase swiglu_case(Shape shape) {
  OpCase test;
  test.op = std::make_shared<SwigluOp>();
  test.inputs = {activation(uniform(shape, 341, -4, 4))};
  test.reference = gated;
  test.magnitude = [](std::span<const HostTensor> in) {
    auto bound = gated(in);
    for (double& b : bound[0].data) b = std::abs(b);
    return bound;
  };
  test.floor = 1;
  return test;
}

class SwigluTest : public OpTest {};

// Rows of whole packs, of whole registers, and of neither.
TEST_P(SwigluTest, ValuesAndGradients) {
  for (Shape shape : {Shape{3, 10}, Shape{2, 7, 64}, Shape{5, 16}, Shape{2, 3, 2, 78}, Shape{150}})
    check_op(swiglu_case(shape), GetParam());
}

TEST_P(SwigluTest, ValuesOfManyRows) {
  check_values(swiglu_case({700, 34}), GetParam());
}

SPIRE_TEST_EVERYWHERE(SwigluTest);

TEST(SwigluOp, RefusesInputsThatDoNotFit) {
  EXPECT_EQ(SwigluOp().infer(std::vector{f32({4, 10})})[0], f32({4, 5}));
  EXPECT_EQ(
      refusal(SwigluOp(), {f32({4, 9})}),
      "[swiglu] takes as many gates as values (.., 2F) of fp32, bf16 or fp16, got fp32 (4, 9)");
  EXPECT_EQ(refusal(SwigluBackwardOp(), {f32({4, 10}), f32({4, 10})}),
            "[swiglu_backward] takes dy fp32 (4, 5), got fp32 (4, 10)");
}

}  // namespace
}  // namespace spire::testing
