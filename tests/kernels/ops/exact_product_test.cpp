// Tests of the ops of precision: exact that multiply: against float64 references, with the error
// bound of their bits; and that their sums have no order.
#include "kernels/ops/exact_product/exact_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <tests/kernels/op_test.h>

#include "kernels/exact_grid.h"

namespace spire::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A convolution by its formula; dense layers as images of one pixel.
HostTensor convolve(const ExactProductAttributes& a, Tensors in, const Shape& out) {
  Shape x = as_image(in[0].shape), w = as_filter(in[1].shape), shape = as_image(out);
  HostTensor y = zeros(out);
  for (int64_t at = 0; at < y.size(); ++at) {
    int64_t o = at % shape[3], j = at / shape[3] % shape[2],
            i = at / shape[3] / shape[2] % shape[1];
    int64_t n = at / (shape[1] * shape[2] * shape[3]);
    double sum = a.bias ? in[2][o] : 0;
    for (int64_t r = 0; r < w[2]; ++r) {
      for (int64_t s = 0; s < w[3]; ++s) {
        int64_t p = i * a.stride.h - a.padding.h + r * a.dilation.h;
        int64_t q = j * a.stride.w - a.padding.w + s * a.dilation.w;
        if (p < 0 || p >= x[1] || q < 0 || q >= x[2]) continue;
        for (int64_t c = 0; c < x[3]; ++c)
          sum += in[0][((n * x[1] + p) * x[2] + q) * x[3] + c] *
                 in[1][((o * x[3] + c) * w[2] + r) * w[3] + s];
      }
    }
    y[at] = sum;
  }
  return y;
}

OpCase product_case(const Shape& x, const Shape& w, ExactProductAttributes a) {
  a.global_batch = x[0];
  OpCase test;
  test.op = std::make_shared<ExactProductOp>(a);
  test.inputs = {plain(uniform(x, 1)), plain(uniform(w, 2))};
  if (a.bias) test.inputs.push_back(plain(uniform({w[0]}, 3)));
  std::vector<TensorSpec> specs = {f32(x), f32(w)};
  if (a.bias) specs.push_back(f32({w[0]}));
  Shape out = test.op->infer(specs)[0].shape;
  test.reference = [=](Tensors in) { return convolve(a, in, out); };
  // Each factor is off by at most 2^-bits of the largest, and the sum is rounded once.
  int64_t terms = w.elements() / w[0];
  test.magnitude = [=](Tensors in) {
    HostTensor bound = zeros(out);
    double most = static_cast<double>(terms) * largest(in[0]) * largest(in[1]) + 1;
    std::fill(bound.data.begin(), bound.data.end(), most);
    return bound;
  };
  test.value_factor = std::ldexp(2.0, 24 - product_bits(terms)) + 1;
  // Gradients are sums of as many products as x, y or w have, of factors below 1.
  int64_t length = std::max({terms, w.elements() / w[1], out.elements() / out.back()});
  test.gradient_factor = std::ldexp(2.0, 24 - product_bits(length)) + 1;
  test.floor = static_cast<double>(length);
  test.gradient_samples = 30;
  return test;
}

// Tensors are fp32 in every environment, so those of other types would be the same.
class ExactProductTest : public OpTest {
 protected:
  void SetUp() override {
    OpTest::SetUp();
    if (GetParam().dtype != DType::f32) GTEST_SKIP() << "exact ops are fp32";
  }

  static std::vector<double> on_cpu(const Op& op, std::span<const Input> inputs,
                                    size_t output = 0) {
    return run_op(op, inputs, {})[output].data;
  }
};

TEST_P(ExactProductTest, OfDenseLayers) {
  for (auto [rows, outputs] : {std::pair<int64_t, int64_t>{1, 1}, {5, 33}, {40, 10}}) {
    SCOPED_TRACE(fmt::format("{} rows, {} outputs", rows, outputs));
    check_op(product_case({rows, 19}, {outputs, 19}, {.bias = true}), GetParam());
  }
  check_op(product_case({3, 700}, {4, 700}, {}), GetParam());
}

TEST_P(ExactProductTest, OfConvolutions) {
  check_op(product_case({3, 7, 6, 2}, {5, 2, 3, 3}, {.padding = {1, 1}, .bias = true}), GetParam());
  check_op(product_case({2, 9, 8, 3}, {9, 3, 3, 2},
                        {.stride = {2, 3}, .padding = {1, 0}, .dilation = {2, 1}}),
           GetParam());
  check_op(product_case({2, 5, 5, 4}, {3, 4, 1, 1}, {.stride = {2, 2}, .bias = true}), GetParam());
}

TEST_P(ExactProductTest, HasTheCpusBits) {
  for (const OpCase& test :
       {product_case({5, 300}, {12, 300}, {.bias = true}),
        product_case({3, 7, 6, 2}, {5, 2, 3, 3}, {.padding = {1, 1}, .bias = true})})
    EXPECT_EQ(run_op(*test.op, test.inputs, GetParam())[0].data, on_cpu(*test.op, test.inputs));
}

// Columns of x and w in another order are the same sum in another order: in fp32 the bits differ.
TEST_P(ExactProductTest, HasNoOrder) {
  constexpr int64_t rows = 6, terms = 500, outputs = 9;
  HostTensor x = uniform({rows, terms}, 4, -3, 3), w = uniform({outputs, terms}, 5, -1e-3, 1e-3);
  auto turned = [](HostTensor tensor) {
    for (int64_t row = 0; row < tensor.shape[0]; ++row) {
      auto begin = tensor.data.begin() + row * terms;
      std::rotate(begin, begin + 123, begin + terms);
    }
    return tensor;
  };
  std::vector<Input> inputs = {plain(x), plain(w)}, others = {plain(turned(x)), plain(turned(w))};
  ExactProductOp op(ExactProductAttributes{});
  EXPECT_EQ(run_op(op, inputs, GetParam())[0].data, run_op(op, others, GetParam())[0].data);
}

TEST_P(ExactProductTest, KeepsInfinityAndNan) {
  HostTensor x = uniform({3, 8}, 6), w = uniform({2, 8}, 7, 0.5, 1);
  x[3] = infinity;
  x[8 + 2] = std::nan("");
  std::vector<Input> inputs = {plain(x), plain(w)};
  auto y = run_op(ExactProductOp(ExactProductAttributes{}), inputs, GetParam())[0];
  for (int64_t i : {0, 1, 2, 3}) EXPECT_FALSE(std::isfinite(y[i])) << i;
  for (int64_t i : {4, 5}) EXPECT_TRUE(std::isfinite(y[i])) << i;
}

// Grids follow the operands: a product of 2^-60 x and 2^100 w is 2^40 x w to the last bit, and one
// of zeros is zero.
TEST_P(ExactProductTest, FollowsMagnitudes) {
  HostTensor x = uniform({3, 50}, 8), w = uniform({4, 50}, 9);
  auto scaled = [](HostTensor tensor, int power) {
    for (double& value : tensor.data) value = std::ldexp(value, power);
    return tensor;
  };
  ExactProductOp op(ExactProductAttributes{});
  std::vector<Input> inputs = {plain(x), plain(w)};
  std::vector<Input> large = {plain(scaled(x, -60)), plain(scaled(w, 100))};
  HostTensor expected = scaled(run_op(op, inputs, GetParam())[0], 40);
  EXPECT_EQ(run_op(op, large, GetParam())[0].data, expected.data);
  std::vector<Input> nothing = {plain(zeros({3, 50})), plain(w)};
  EXPECT_EQ(run_op(op, nothing, GetParam())[0].data, std::vector<double>(12, 0.0));
}

HostTensor samples_of(const HostTensor& all, int64_t begin, int64_t end) {
  Shape shape = all.shape;
  int64_t size = all.size() / shape[0];
  shape[0] = end - begin;
  return {shape, {all.data.begin() + begin * size, all.data.begin() + end * size}};
}

HostTensor added(HostTensor a, const HostTensor& b) {
  for (int64_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// The gradient of towers that have samples up to each of `ends`: as the engine computes it.
HostTensor total_of(const HostTensor& x, const HostTensor& dy, const std::vector<int64_t>& ends,
                    const ExactProductAttributes& a, const Shape& w, const Environment& where) {
  auto over_towers = [&](const auto& term) {
    HostTensor total;
    int64_t begin = 0;
    for (int64_t end : ends) {
      HostTensor one = term(samples_of(x, begin, end), samples_of(dy, begin, end));
      total = begin == 0 ? one : added(total, one);
      begin = end;
    }
    return total;
  };
  HostTensor flags = over_towers([&](const HostTensor& x_part, const HostTensor& dy_part) {
    return run_op(ExactRangeOp(), std::vector{plain(x_part), plain(dy_part)}, where)[0];
  });
  return over_towers([&](const HostTensor& x_part, const HostTensor& dy_part) {
    std::vector<Input> inputs = {plain(x_part), plain(dy_part), sums(flags)};
    return run_op(ExactProductBackwardWeightsOp(a, w), inputs, where)[0];
  });
}

TEST_P(ExactProductTest, WeightGradientsAreOneSumForAnySplit) {
  ExactProductAttributes a{.padding = {1, 1}, .bias = true, .global_batch = 12};
  Shape w = {5, 2, 3, 3};
  HostTensor x = uniform({12, 6, 5, 2}, 10), dy = uniform({12, 6, 5, 5}, 11, -1e-4, 1e-4);
  for (int64_t i = 0; i < dy.size() / 12; ++i) dy[i] *= 1000;  // so towers differ in their range
  HostTensor whole = total_of(x, dy, {12}, a, w, GetParam());
  EXPECT_EQ(whole.data, total_of(x, dy, {12}, a, w, {}).data) << "on a CPU";
  for (const std::vector<int64_t>& ends : {std::vector<int64_t>{5, 12}, {4, 8, 12}, {1, 2, 12}})
    EXPECT_EQ(total_of(x, dy, ends, a, w, GetParam()).data, whole.data) << ends.size();
}

TEST_P(ExactProductTest, RangeIsThatOfTheLargestMagnitude) {
  HostTensor x = uniform({3000}, 12, -0.9, 0.9), tiny = zeros({5});
  x[2500] = -48;  // 1.5 * 2^5
  auto flags = run_op(ExactRangeOp(), std::vector{plain(x), plain(tiny)}, GetParam())[0];
  EXPECT_EQ(highest_exponent(flags.data.data()), 127 + 5);
  EXPECT_EQ(highest_exponent(flags.data.data() + exponent_count), 0);
  x[7] = infinity;
  flags = run_op(ExactRangeOp(), std::vector{plain(x), plain(tiny)}, GetParam())[0];
  EXPECT_EQ(highest_exponent(flags.data.data()), 255);
}

// total (KH KW C O + O): w (o, c, r, s) = 1000 o + 100 c + 10 r + s.
TEST_P(ExactProductTest, GradientsAreThoseOfTheFirstTowerAlone) {
  Shape w = {2, 3, 2, 2};
  HostTensor total = zeros({24 + 2}), expected = zeros(w);
  for (int64_t i = 0; i < 24; ++i) {
    int64_t o = i / 12, c = i / 4 % 3, tap = i % 4;
    expected[i] = static_cast<double>(100 * o + 10 * c + tap);
    total[(tap * 3 + c) * 2 + o] = expected[i];
  }
  total[24] = 1 + 0x1p-30, total[25] = -0.0;  // rounded to fp32; no negative zero
  std::vector<Input> inputs = {sums(total)};
  auto first = run_op(ExactGradientOp(w, true), inputs, GetParam(), {.first_row = 0});
  EXPECT_EQ(first[0].data, expected.data);
  EXPECT_EQ(first[1][0], 1);
  EXPECT_FALSE(std::signbit(first[1][1]));
  auto second = run_op(ExactGradientOp(w, true), inputs, GetParam(), {.first_row = 12});
  EXPECT_EQ(second[0].data, std::vector<double>(24, 0.0));
  EXPECT_EQ(second[1].data, std::vector<double>(2, 0.0));
}

SPIRE_TEST_EVERYWHERE(ExactProductTest);

// 2 bits + log2 length <= 53, and no more bits than a float has.
TEST(ExactGrid, BitsFollowTheLength) {
  EXPECT_EQ(product_bits(1), 24);
  EXPECT_EQ(product_bits(32), 24);
  EXPECT_EQ(product_bits(33), 23);
  EXPECT_EQ(product_bits(128), 23);
  EXPECT_EQ(product_bits(784), 21);
  EXPECT_EQ(product_bits(128 * 28 * 28), 18);
  EXPECT_EQ(term_bits(128), 46);
}

TEST(ExactGrid, RoundsToMultiplesOfItsStep) {
  Grid grid(exponent_of(1.5f), 4);  // steps of 2^-3 below 2
  EXPECT_EQ(grid(1.5f), 1.5);
  EXPECT_EQ(grid(1.3f), 1.25);
  EXPECT_EQ(grid(-0.06f), 0);
  EXPECT_EQ(grid(1.99f), 2);
  EXPECT_TRUE(std::isinf(grid(std::numeric_limits<float>::infinity())));
  EXPECT_TRUE(std::isnan(grid(std::nanf(""))));
}

TEST(ExactProductShapes, SaysWhatDoesNotFit) {
  ExactProductOp dense(ExactProductAttributes{});
  EXPECT_EQ(refusal(dense, {f32({4, 5}), f32({3, 6})}),
            "[exact_product] weights (3, 6) take 6 channels, the input (4, 5) has 5");
  EXPECT_EQ(refusal(dense, {{{4, 5}, DType::bf16}, f32({3, 5})}),
            "[exact_product] takes fp32 (N, C) or (N, H, W, C), got bf16 (4, 5)");
  EXPECT_EQ(refusal(dense, {f32({4, 5}), f32({3, 5, 1, 1})}),
            "[exact_product] takes weights fp32 of 2 axes, got fp32 (3, 5, 1, 1)");
  EXPECT_EQ(refusal(ExactProductOp({.bias = true}), {f32({4, 5}), f32({3, 5}), f32({5})}),
            "[exact_product] bias must be fp32 (3), got fp32 (5)");
  EXPECT_EQ(refusal(ExactProductBackwardDataOp({}, f32({4, 5})), {f32({4, 2}), f32({3, 5})}),
            "[exact_product_backward_data] takes a gradient fp32 (4, 3), got fp32 (4, 2)");
  TensorSpec flags{{512}, DType::f64};
  EXPECT_EQ(refusal(ExactProductBackwardWeightsOp({}, {3, 5}), {f32({4, 5}), f32({4, 2}), flags}),
            "[exact_product_backward_weights] takes a gradient fp32 (4, 3), got fp32 (4, 2)");
  EXPECT_EQ(refusal(ExactProductBackwardWeightsOp({}, {3, 5}),
                    {f32({4, 5}), f32({4, 3}), {{256}, DType::f64}}),
            "[exact_product_backward_weights] takes flags fp64 (512), got fp64 (256)");
  EXPECT_EQ(refusal(ExactGradientOp({3, 5}, true), {{{15}, DType::f64}}),
            "[exact_gradient] takes a total fp64 (18), got fp64 (15)");
  EXPECT_EQ(refusal(ExactRangeOp(), {{{15}, DType::f64}}),
            "[exact_range] takes fp32, got fp64 (15)");
}

// Of one sign, all as large as a grid allows and odd: the largest sums that there are.
TEST(ExactGrid, HoldsTheLargestSumsOfEachLength) {
  for (int64_t length : {1, 2, 64, 100, 784, 4096, 1 << 17}) {
    int bits = product_bits(length);
    auto largest = static_cast<float>(2 - std::ldexp(1.0, 1 - bits));  // 2^bits - 1 steps
    Grid grid(exponent_of(largest), bits);
    double factor = grid(largest), sum = 0;
    for (int64_t i = 0; i < length; ++i) sum = std::fma(factor, factor, sum);
    auto steps = static_cast<int64_t>(std::ldexp(factor, bits - 1));
    EXPECT_LE(steps * steps * length, int64_t{1} << 53) << length;
    EXPECT_EQ(static_cast<int64_t>(std::ldexp(sum, 2 * bits - 2)), steps * steps * length);
    if (bits == 24) continue;
    // Two bits more do not fit.
    EXPECT_GT(steps * steps * length * 16, int64_t{1} << 53) << length;
  }
}

}  // namespace
}  // namespace spire::testing
