#include "kernels/ops/exact_cross_entropy/exact_cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <tests/kernels/op_test.h>

namespace spire::testing {
namespace {

HostTensor labels_of(int64_t rows, int64_t classes) {
  HostTensor labels = zeros({rows});
  for (int64_t n = 0; n < rows; ++n) labels[n] = static_cast<double>(n * 7 % classes);
  return labels;
}

// The formula, one row after another.
std::vector<HostTensor> loss_of(double smoothing, Tensors in) {
  int64_t rows = in[0].shape[0], classes = in[0].shape[1];
  std::vector<HostTensor> out = {zeros({1}), zeros({1})};
  for (int64_t n = 0; n < rows; ++n) {
    const double* x = in[0].data.data() + n * classes;
    auto label = static_cast<int64_t>(in[1][n]);
    double sum = 0, total = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[c]), total += x[c];
    double lse = std::log(sum);
    out[0][0] +=
        lse - (1 - smoothing) * x[label] - smoothing * total / static_cast<double>(classes);
    out[1][0] += std::max_element(x, x + classes) - x == label ? 1 : 0;
  }
  return out;
}

OpCase loss_case(int64_t rows, int64_t classes, float smoothing) {
  OpCase test(ExactCrossEntropyOp(SoftmaxCrossEntropyAttributes{.label_smoothing = smoothing}),
              {plain(uniform({rows, classes}, 1, -4, 4)), labels(labels_of(rows, classes))},
              [=](Tensors in) { return loss_of(static_cast<double>(smoothing), in); });
  test.is_loss = true;
  test.floor = 1e4;  // the loss is f64, but rounded to multiples of 2^-30
  test.value_factor = 2000;
  test.gradient_factor = 1;
  test.step.gradient_scale = 0.25f;
  return test;
}

// Tensors are fp32 in every environment, so those of other types would be the same.
class ExactCrossEntropyTest : public OpTest {
 protected:
  void SetUp() override {
    OpTest::SetUp();
    if (GetParam().dtype != DType::f32) GTEST_SKIP() << "exact ops are fp32";
  }
};

TEST_P(ExactCrossEntropyTest, ValuesAndGradients) {
  for (int64_t rows : {1, 70}) {
    for (float smoothing : {0.0f, 0.1f}) {
      OpCase test = loss_case(rows, 10, smoothing);
      auto out = run_op(*test.op, test.inputs, GetParam());
      std::vector<HostTensor> in = {test.inputs[0].tensor, test.inputs[1].tensor};
      for (double& value : in[0].data) value = static_cast<double>(static_cast<float>(value));
      auto want = test.reference(in);
      EXPECT_NEAR(out[0][0], want[0][0], static_cast<double>(rows) * 0x1p-30);
      EXPECT_EQ(out[1][0], want[1][0]);
      test.floor = 100;  // differences of the reference have an error of about 1e-10
      check_gradient(test, GetParam());
    }
  }
}

TEST_P(ExactCrossEntropyTest, HasTheCpusBits) {
  OpCase test = loss_case(70, 11, 0.1f);
  auto here = run_op(*test.op, test.inputs, GetParam()), cpu = run_op(*test.op, test.inputs, {});
  for (size_t k = 0; k < cpu.size(); ++k) EXPECT_EQ(here[k].data, cpu[k].data) << k;
  ExactCrossEntropyBackwardOp backward({.label_smoothing = 0.1f});
  EXPECT_EQ(run_op(backward, test.inputs, GetParam(), test.step)[0].data,
            run_op(backward, test.inputs, {}, test.step)[0].data);
}

TEST_P(ExactCrossEntropyTest, LossesAreOneSumForAnySplit) {
  HostTensor logits = uniform({60, 9}, 3, -5, 5), all = labels_of(60, 9);
  ExactCrossEntropyOp op(SoftmaxCrossEntropyAttributes{});
  auto loss = [&](int64_t begin, int64_t end) {
    HostTensor x{{end - begin, 9},
                 {logits.data.begin() + begin * 9, logits.data.begin() + end * 9}};
    HostTensor l{{end - begin}, {all.data.begin() + begin, all.data.begin() + end}};
    return run_op(op, std::vector{plain(x), labels(l)}, GetParam())[0][0];
  };
  EXPECT_EQ(loss(0, 7) + loss(7, 41) + loss(41, 60), loss(0, 60));
}

TEST_P(ExactCrossEntropyTest, MixedLabels) {
  HostTensor logits = uniform({4, 5}, 5), first = labels_of(4, 5), second = zeros({4});
  HostTensor mix = zeros({4}), one = mix;
  std::fill(mix.data.begin(), mix.data.end(), 0.25);
  ExactCrossEntropyOp plain_op(SoftmaxCrossEntropyAttributes{});
  ExactCrossEntropyOp mixed(SoftmaxCrossEntropyAttributes{.mixed = true});
  auto loss = [&](const Op& op, std::vector<Input> inputs) {
    return run_op(op, inputs, GetParam())[0][0];
  };
  double both = loss(mixed, {plain(logits), labels(first), labels(second), plain(mix)});
  double of_first = loss(plain_op, {plain(logits), labels(first)});
  double of_second = loss(plain_op, {plain(logits), labels(second)});
  EXPECT_NEAR(both, 0.25 * of_first + 0.75 * of_second, 8 * 0x1p-30);
}

TEST_P(ExactCrossEntropyTest, ARowOfNanIsNotCorrect) {
  HostTensor logits = zeros({2, 3}), l = zeros({2});
  for (size_t c = 0; c < 3; ++c) logits[c] = std::nan("");
  logits[3] = 1;
  ExactCrossEntropyOp op(SoftmaxCrossEntropyAttributes{});
  std::vector<Input> inputs = {plain(logits), labels(l)};
  EXPECT_EQ(run_op(op, inputs, GetParam())[1][0], 1);
}

TEST_P(ExactCrossEntropyTest, WhatIsNotFiniteStaysSo) {
  HostTensor logits = uniform({4, 3}, 6), l = zeros({4});
  logits[0] = std::nan("");
  logits[3] = std::numeric_limits<double>::infinity();
  l[2] = 3;  // no class
  std::vector<Input> inputs = {plain(logits), labels(l)};
  ExactCrossEntropyOp op(SoftmaxCrossEntropyAttributes{});
  ExactCrossEntropyBackwardOp backward(SoftmaxCrossEntropyAttributes{});
  EXPECT_TRUE(std::isnan(run_op(op, inputs, GetParam())[0][0]));
  auto dx = run_op(backward, inputs, GetParam())[0];
  EXPECT_FALSE(std::isfinite(dx[1]));
  EXPECT_FALSE(std::isfinite(dx[3]));
  EXPECT_TRUE(std::isfinite(dx[9]));
}

SPIRE_TEST_EVERYWHERE(ExactCrossEntropyTest);

TEST(ExactCrossEntropyShapes, SaysWhatDoesNotFit) {
  std::vector<TensorSpec> inputs = {f32({4, 3}), {{4}, DType::i32}};
  const char* one_label =
      "[exact_cross_entropy] takes samples of one label each, without z-loss; use precision: fp32 "
      "for others";
  EXPECT_EQ(refusal(ExactCrossEntropyOp({.z_loss = 0.1f}), inputs), one_label);
  EXPECT_EQ(refusal(ExactCrossEntropyOp({.rows_per_sample = 2}), inputs), one_label);
  inputs[0].dtype = DType::bf16;
  EXPECT_EQ(refusal(ExactCrossEntropyOp(SoftmaxCrossEntropyAttributes{}), inputs),
            "[exact_cross_entropy] takes fp32 logits, got bf16 (4, 3)");
}

TEST(ExactFunctions, AreTheExponentialAndTheLogarithm) {
  constexpr double few_units = 4 * 0x1p-53;
  for (double x = 0; x > -700; x -= 0.37)
    ASSERT_NEAR(exact_exponential(x) / std::exp(x), 1, few_units) << x;
  EXPECT_EQ(exact_exponential(0), 1);
  EXPECT_EQ(exact_exponential(-1e30), exact_exponential(-700));
  EXPECT_TRUE(std::isnan(exact_exponential(std::nan(""))));
  for (double x = 1e-300; x < 1e300; x *= 1.37)
    ASSERT_NEAR(exact_logarithm(x), std::log(x), few_units * std::max(1.0, std::abs(std::log(x))));
  EXPECT_EQ(exact_logarithm(1), 0);
  EXPECT_TRUE(std::isnan(exact_logarithm(std::nan(""))));
}

}  // namespace
}  // namespace spire::testing
