#include "kernels/ops/pool2d/pool2d.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <tests/kernels/eager.h>
#include <tests/kernels/op_test.h>

namespace spire::testing {
namespace {

// Distinct under any window and exact in bf16: multiples of 1/64 that repeat after 509 elements.
HostTensor distinct(const Shape& shape) {
  HostTensor x = zeros(shape);
  for (int64_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * 211 % 509 - 254) / 64;
  return x;
}

// The definition: the first tap, in row order, that no other exceeds.
std::vector<HostTensor> maxima(const MaxPool2dAttributes& a, const HostTensor& x,
                               const Shape& out) {
  HostTensor y = zeros(out), which = zeros(out);
  for (int64_t e = 0; e < y.size(); ++e) {
    int64_t c = e % out[3], j = e / out[3] % out[2], i = e / out[3] / out[2] % out[1];
    int64_t n = e / out[3] / out[2] / out[1];
    y[e] = -std::numeric_limits<double>::infinity();
    for (int64_t tap = 0; tap < a.kernel.h * a.kernel.w; ++tap) {
      int64_t p = i * a.stride.h - a.padding.h + tap / a.kernel.w;
      int64_t q = j * a.stride.w - a.padding.w + tap % a.kernel.w;
      if (p < 0 || p >= x.shape[1] || q < 0 || q >= x.shape[2]) continue;
      double value = x[((n * x.shape[1] + p) * x.shape[2] + q) * x.shape[3] + c];
      if (value <= y[e]) continue;
      y[e] = value;
      which[e] = static_cast<double>(tap);
    }
  }
  return {y, which};
}

OpCase max_case(Shape shape, MaxPool2dAttributes attributes) {
  OpCase test;
  auto op = std::make_shared<MaxPool2dOp>(attributes);
  std::vector<TensorSpec> specs{{shape, DType::f32}};
  Shape out = op->infer(specs)[0].shape;
  test.op = op;
  test.inputs = {activation(distinct(shape))};
  test.reference = [=](Tensors in) { return maxima(attributes, in[0], out); };
  test.difference_step = 1e-4;
  return test;
}

SPIRE_OP_TEST(MaxPool2dTest);

HostTensor gradient_of_ones(const Op& backward, const HostTensor& which,
                            const Environment& environment) {
  HostTensor ones = zeros(which.shape);
  for (double& value : ones.data) value = 1;
  std::vector<DeviceTensor> inputs = {upload(ones, DType::f32, false, environment.device),
                                      upload(which, DType::u8, false, environment.device)};
  return download(execute(backward, inputs, environment, {})[0]);
}

TEST_P(MaxPool2dTest, EveryKernelStrideAndPadding) {
  for (int64_t kernel : {1, 2, 3}) {
    for (int64_t stride : {1, 2, 3}) {
      for (int64_t padding = 0; padding <= kernel / 2; ++padding) {
        SCOPED_TRACE(fmt::format("kernel {} stride {} padding {}", kernel, stride, padding));
        check_op(max_case({2, 7, 5, 3}, {{kernel, kernel}, {stride, stride}, {padding, padding}}),
                 GetParam());
      }
    }
  }
}

TEST_P(MaxPool2dTest, EveryChannelCountAndUnequalSides) {
  for (int64_t channels : {1, 15, 16, 17, 40}) {
    check_op(max_case({1, 4, 6, channels}, {.kernel = {2, 2}}), GetParam());
  }
  check_op(max_case({3, 6, 9, 5}, {.kernel = {1, 3}, .stride = {2, 3}}), GetParam());
  check_op(max_case({1, 16, 16, 1}, {.kernel = {16, 16}}), GetParam());
}

// The kernel has special loops for the 2x2 window; at odd sides some pixels are under no window.
TEST_P(MaxPool2dTest, TwoByTwoOnEvenAndOddSides) {
  for (Shape x : {Shape{2, 6, 8, 33}, Shape{2, 7, 9, 33}, Shape{1, 7, 6, 16}, Shape{1, 2, 3, 5}}) {
    check_op(max_case(x, {}), GetParam());
  }
  check_op(max_case({2, 5, 6, 17}, {.kernel = {2, 2}, .stride = {1, 3}}), GetParam());
}

TEST_P(MaxPool2dTest, TheFirstOfEqualOnesWins) {
  HostTensor x = zeros({1, 2, 4, 1});
  x.data = {5, 5, 1, 2, 5, 5, 2, 2};
  auto outputs = run_op(MaxPool2dOp(), std::vector{activation(x)}, GetParam());
  EXPECT_EQ(outputs[0].data, (std::vector<double>{5, 2}));
  EXPECT_EQ(outputs[1].data, (std::vector<double>{0, 1}));
}

TEST_P(MaxPool2dTest, NaNIsTheMaximumAndMinusInfinityCanBe) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  double low = -std::numeric_limits<double>::infinity();
  HostTensor x = zeros({1, 2, 4, 1});
  x.data = {1, nan, low, low, 9, 2, low, low};
  auto outputs = run_op(MaxPool2dOp(), std::vector{activation(x)}, GetParam());
  EXPECT_TRUE(std::isnan(outputs[0][0]));
  EXPECT_EQ(outputs[1][0], 1);
  EXPECT_EQ(outputs[0][1], low);
  EXPECT_EQ(outputs[1][1], 0);
}

// A window gives its gradient to one pixel: for dy of ones, dx counts the windows.
TEST_P(MaxPool2dTest, EveryWindowGivesItsGradientToOnePixel) {
  for (int64_t stride : {1, 2, 3, 4}) {
    MaxPool2dAttributes a{{3, 3}, {stride, stride}, {1, 1}};
    HostTensor x = distinct({2, 9, 7, 20});
    auto outputs = run_op(MaxPool2dOp(a), std::vector{activation(x)}, GetParam());
    MaxPool2dBackwardOp backward(a, {x.shape, DType::f32});
    HostTensor dx = gradient_of_ones(backward, outputs[1], GetParam());
    double sum = 0;
    for (double value : dx.data) sum += value;
    EXPECT_EQ(sum, static_cast<double>(outputs[0].size())) << "stride " << stride;
  }
}

// The winner's tap is kept in a byte, hence the limit of 256 taps.
TEST(MaxPool2dShapes, SaysWhatDoesNotFit) {
  EXPECT_EQ(refusal(MaxPool2dOp({.kernel = {3, 3}}), {f32({1, 2, 4, 1})}),
            "[max_pool2d] kernel 3x3 with dilation 1 does not fit input 2x4 with padding 0");
  EXPECT_EQ(refusal(MaxPool2dOp({.kernel = {2, 2}, .padding = {1, 2}}), {f32({1, 4, 4, 1})}),
            "[max_pool2d] padding 1x2 is more than half of kernel 2x2");
  EXPECT_EQ(refusal(MaxPool2dOp({.kernel = {16, 17}}), {f32({1, 20, 20, 1})}),
            "[max_pool2d] kernel 16x17 has more than 256 taps");
  EXPECT_EQ(refusal(MaxPool2dOp(), {f32({4, 4, 1})}),
            "[max_pool2d] takes an input (N, H, W, C), got (4, 4, 1)");
  EXPECT_EQ(refusal(MaxPool2dOp(), {{{1, 4, 4, 1}, DType::i32}}),
            "[max_pool2d] cannot compute on int32");
}

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
  test.reference = [=](Tensors in) { return means(attributes, in[0], out); };
  test.magnitude = [=](Tensors in) { return test.reference(absolute(in)); };
  test.gradient_samples = 60;
  return test;
}

// The mean of all pixels of a sample, (N, H, W, C) to (N, C).
OpCase global_case(Shape shape) {
  OpCase test(GlobalAvgPoolOp(), {activation(uniform(shape, 5))}, [](Tensors in) {
    const Shape& s = in[0].shape;
    HostTensor y = zeros({s[0], s[3]});
    int64_t pixels = s[1] * s[2];
    for (int64_t i = 0; i < in[0].size(); ++i) {
      y[i / s[3] / pixels * s[3] + i % s[3]] += in[0][i] / static_cast<double>(pixels);
    }
    return y;
  });
  test.magnitude = [=](Tensors in) { return test.reference(absolute(in)); };
  return test;
}

SPIRE_OP_TEST(AvgPool2dTest);
SPIRE_OP_TEST(GlobalAvgPoolTest);

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
