#include <tests/kernels/op_test.h>

#include "kernels/ops/avg_pool2d/avg_pool2d.h"

namespace spire::testing {

namespace {

OpCase average_case(Shape shape) {
  OpCase test;
  test.op = std::make_shared<GlobalAvgPoolOp>();
  test.inputs = {activation(uniform(shape, 5))};
  test.reference = [](std::span<const HostTensor> in) {
    const Shape& s = in[0].shape;
    HostTensor y = zeros({s[0], s[3]});
    int64_t pixels = s[1] * s[2];
    for (int64_t i = 0; i < in[0].size(); ++i) {
      y[i / s[3] / pixels * s[3] + i % s[3]] += in[0][i] / static_cast<double>(pixels);
    }
    return std::vector<HostTensor>{y};
  };
  test.magnitude = [=](std::span<const HostTensor> in) { return test.reference(absolute(in)); };
  return test;
}

class GlobalAvgPoolTest : public OpTest {};

}  // namespace

TEST_P(GlobalAvgPoolTest, EveryShape) {
  for (int64_t channels : {1, 3, 16, 35}) {
    check_op(average_case({3, 5, 4, channels}), GetParam());
  }
  check_op(average_case({2, 3, 3, 600}), GetParam());
  check_op(average_case({2, 9, 9, 8}), GetParam());
  check_op(average_case({1, 1, 1, 7}), GetParam());
  check_op(average_case({2, 28, 28, 2}), GetParam());
}

SPIRE_TEST_EVERYWHERE(GlobalAvgPoolTest);

TEST(GlobalAvgPoolShapes, SaysWhatDoesNotFit) {
  auto refusal = [](const Op& op, std::vector<TensorSpec> inputs) {
    try {
      op.infer(inputs);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  TensorSpec x{{2, 3, 3, 4}, DType::f32};
  EXPECT_EQ(refusal(GlobalAvgPoolOp(), {{{3, 3, 4}, DType::f32}}),
            "[global_avg_pool] takes an input (N, H, W, C), got (3, 3, 4)");
  EXPECT_EQ(refusal(GlobalAvgPoolBackwardOp(x), {x}),
            "[global_avg_pool_backward] takes the gradient of fp32 (2, 4), got fp32 (2, 3, 3, 4)");
}

}  // namespace spire::testing
