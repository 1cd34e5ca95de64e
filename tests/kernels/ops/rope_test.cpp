#include "kernels/ops/rope/rope.h"

#include <cmath>

#include <tests/kernels/matrix_views.h>

namespace spire::testing {
namespace {

// Turns each pair (column, column + D / 2) of the heads by t theta^(-2 i / D).
// in: x [, positions].
std::vector<HostTensor> turned(Tensors in, const RopeAttributes& a, bool magnitudes) {
  const HostTensor& x = in[0];
  std::vector<HostTensor> out = {magnitudes ? absolute(x) : x};
  for (int64_t n = 0; n < x.shape[0]; ++n)
    for (int64_t t = 0; t < x.shape[1]; ++t)
      for (int64_t h = 0; h < a.heads; ++h)
        for (int64_t i = 0; i < a.size / 2; ++i) {
          double power = -2 * static_cast<double>(i) / static_cast<double>(a.size);
          double position = a.positioned ? in[1][n * x.shape[1] + t] : static_cast<double>(t);
          double angle = position * std::pow(a.theta, power);
          double c = std::cos(angle), s = std::sin(a.inverse ? -angle : angle);
          int64_t first = (n * x.shape[1] + t) * x.shape[2] + h * a.size + i;
          int64_t second = first + a.size / 2;
          double p = x[first], q = x[second];
          out[0][first] = magnitudes ? std::abs(p) + std::abs(q) : p * c - q * s;
          out[0][second] = magnitudes ? std::abs(p) + std::abs(q) : q * c + p * s;
        }
  return out;
}

OpCase rope_case(Shape shape, const RopeAttributes& attributes) {
  OpCase test(RopeOp(attributes), {activation(uniform(shape, 321))},
              [=](Tensors in) { return turned(in, attributes, false); });
  test.magnitude = [=](Tensors in) { return turned(in, attributes, true); };
  test.floor = 0.01;
  return test;
}

SPIRE_OP_TEST(RopeTest);

// Heads alone, heads before columns that stay, heads of odd halves, and turning back.
TEST_P(RopeTest, ValuesAndGradients) {
  check_op(rope_case({2, 5, 16}, {.heads = 2, .size = 8}), GetParam());
  check_op(rope_case({2, 9, 80}, {.heads = 3, .size = 16, .theta = 500000}), GetParam());
  check_op(rope_case({1, 3, 19}, {.heads = 1, .size = 14, .theta = 100}), GetParam());
  check_op(rope_case({2, 5, 70}, {.heads = 1, .size = 66, .inverse = true}), GetParam());
}

TEST_P(RopeTest, PositionsOfTheirOwn) {
  OpCase test = rope_case({2, 3, 20}, {.heads = 2, .size = 8, .positioned = true});
  test.inputs.push_back(labels({{2, 3}, {7, 0, 4, 2, 2, 90}}));
  check_op(test, GetParam());
}

// Angles are exact however many turns they are.
TEST_P(RopeTest, AnglesOfFarPositions) {
  check_values(rope_case({1, 5000, 8}, {.heads = 2, .size = 4}), GetParam());
}

TEST_P(RopeTest, TheFirstPositionStays) {
  HostTensor x = uniform({2, 1, 12}, 322);
  auto stored = run_op(RopeOp({.heads = 1, .size = 4, .inverse = true}), std::vector{activation(x)},
                       GetParam())[0];
  auto again = run_op(RopeOp({.heads = 3, .size = 4}), std::vector{activation(stored)}, GetParam());
  EXPECT_EQ(again[0].data, stored.data);
}

TEST(RopeOp, RefusesInputsThatDoNotFit) {
  std::vector<TensorSpec> x = {f32({2, 5, 24})};
  EXPECT_EQ(RopeOp({.heads = 3, .size = 8}).infer(x), x);
  EXPECT_EQ(refusal(RopeOp({.heads = 4, .size = 8}), x),
            "[rope] 4 heads of 8 columns are not in fp32 (2, 5, 24)");
  EXPECT_EQ(refusal(RopeOp({.heads = 3, .size = 7}), x),
            "[rope] heads have 7 columns; an even number can turn in pairs");
  EXPECT_EQ(refusal(RopeOp({.heads = 3, .size = 8, .theta = 1}), x),
            "[rope] theta is 1; it must be larger than 1");
  EXPECT_EQ(refusal(RopeOp({.heads = 3, .size = 8, .positioned = true}), {x[0], f32({2, 5})}),
            "[rope] takes positions int32 (2, 5), got fp32 (2, 5)");
  EXPECT_EQ(refusal(RopeOp({.heads = 3, .size = 8}), {f32({5, 24})}),
            "[rope] takes an input (N, T, C) of fp32, bf16 or fp16, got fp32 (5, 24)");
}

}  // namespace
}  // namespace spire::testing
