#include <tests/kernels/op_test.h>

#include "kernels/ops/pool2d/pool2d.h"

namespace spire::testing {
namespace {

// The mean of the pixels under each window, and of zeros around x where they count.
HostTensor means(const AvgPool2dAttributes& a, const HostTensor& x, const Shape& out) {
  HostTensor y = zeros(out);
  for (int64_t e = 0; e < y.size(); ++e) {
    int64_t c = e % out[3], j = e / out[3] % out[2], i = e / out[3] / out[2] % out[1];
    int64_t n = e / out[3] / out[2] / out[1], taps = a.kernel.h * a.kernel.w, seen = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t p = i * a.stride.h - a.padding.h + tap / a.kernel.w;
      int64_t q = j * a.stride.w - a.padding.w + tap % a.kernel.w;
      if (p < 0 || p >= x.shape[1] || q < 0 || q >= x.shape[2]) continue;
      y[e] += x[((n * x.shape[1] + p) * x.shape[2] + q) * x.shape[3] + c];
      ++seen;
    }
    y[e] /= static_cast<double>(a.count_include_pad ? taps : seen);
  }
  return y;
}

OpCase average_case(Shape shape, AvgPool2dAttributes attributes) {
  OpCase test;
  auto op = std::make_shared<AvgPool2dOp>(attributes);
  std::vector<TensorSpec> specs{{shape, DType::f32}};
  Shape out = op->infer(specs)[0].shape;
  test.op = op;
  test.inputs = {activation(uniform(shape, 5))};
  test.reference = [=](std::span<const HostTensor> in) {
    return std::vector<HostTensor>{means(attributes, in[0], out)};
  };
  test.magnitude = [=](std::span<const HostTensor> in) { return test.reference(absolute(in)); };
  test.gradient_samples = 60;
  return test;
}

// The mean of all pixels of a sample, (N, H, W, C) to (N, C).
OpCase global_case(Shape shape) {
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

class AvgPool2dTest : public OpTest {};
class GlobalAvgPoolTest : public OpTest {};

TEST_P(AvgPool2dTest, EveryKernelStridePaddingAndCount) {
  for (int64_t kernel : {1, 2, 3}) {
    for (int64_t stride : {1, 2, 3}) {
      for (int64_t padding = 0; padding <= kernel / 2; ++padding) {
        for (bool include : {true, false}) {
          SCOPED_TRACE(fmt::format("kernel {} stride {} padding {} count_include_pad {}", kernel,
                                   stride, padding, include));
          check_op(average_case({2, 7, 5, 3},
                                {{kernel, kernel}, {stride, stride}, {padding, padding}, include}),
                   GetParam());
        }
      }
    }
  }
}

// Whole registers of channels, fewer and one more; kernels and strides with unequal sides.
TEST_P(AvgPool2dTest, EveryChannelCountAndUnequalSides) {
  for (int64_t channels : {1, 16, 17, 32}) {
    check_op(average_case({1, 4, 6, channels}, {.kernel = {2, 2}}), GetParam());
  }
  check_op(average_case({3, 6, 9, 5}, {.kernel = {1, 3}, .stride = {2, 3}}), GetParam());
  check_op(average_case({1, 7, 7, 8}, {.kernel = {7, 7}}), GetParam());
}

// Also many channels, a single pixel, and many.
TEST_P(GlobalAvgPoolTest, EveryShape) {
  for (int64_t channels : {1, 3, 16, 35}) {
    check_op(global_case({3, 5, 4, channels}), GetParam());
  }
  check_op(global_case({2, 3, 3, 600}), GetParam());
  check_op(global_case({2, 9, 9, 8}), GetParam());
  check_op(global_case({1, 1, 1, 7}), GetParam());
  check_op(global_case({2, 28, 28, 2}), GetParam());
}

SPIRE_TEST_EVERYWHERE(AvgPool2dTest);
SPIRE_TEST_EVERYWHERE(GlobalAvgPoolTest);

TEST(AvgPool2dShapes, SaysWhatDoesNotFit) {
  TensorSpec x{{1, 2, 4, 1}, DType::f32};
  EXPECT_EQ(refusal(AvgPool2dOp({.kernel = {3, 3}}), {x}),
            "[avg_pool2d] kernel 3x3 with dilation 1 does not fit input 2x4 with padding 0");
  EXPECT_EQ(refusal(AvgPool2dOp({.kernel = {2, 2}, .padding = {2, 2}}), {x}),
            "[avg_pool2d] padding 2 is more than half of kernel 2x2");
  EXPECT_EQ(refusal(AvgPool2dOp(), {x, x}), "[avg_pool2d] takes 1 inputs, got 2");
  EXPECT_EQ(refusal(AvgPool2dBackwardOp({}, x), {x}),
            "[avg_pool2d_backward] takes the gradient of fp32 (1, 1, 2, 1), got fp32 (1, 2, 4, 1)");
}

TEST(GlobalAvgPoolShapes, SaysWhatDoesNotFit) {
  TensorSpec x{{2, 3, 3, 4}, DType::f32};
  EXPECT_EQ(refusal(GlobalAvgPoolOp(), {{{3, 3, 4}, DType::f32}}),
            "[global_avg_pool] takes an input (N, H, W, C), got (3, 3, 4)");
  EXPECT_EQ(refusal(GlobalAvgPoolBackwardOp(x), {x}),
            "[global_avg_pool_backward] takes the gradient of fp32 (2, 4), got fp32 (2, 3, 3, 4)");
}

}  // namespace
}  // namespace spire::testing
