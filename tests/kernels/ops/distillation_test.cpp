#include "kernels/ops/distillation/distillation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <tests/kernels/matrix_views.h>

#include "tests/kernels/op_test.h"

namespace spire::testing {
namespace {

double log_sum(const Eigen::ArrayXd& x) {
  double most = x.maxCoeff();
  return most + std::log((x - most).exp().sum());
}

// loss, logsumexp of logits / T, logsumexp of teacher / T. in: logits, teacher [, loss so far]
std::vector<HostTensor> distillation_reference(Tensors in,
                                               const DistillationAttributes& attributes) {
  auto temperature = static_cast<double>(attributes.temperature);
  auto x = matrix_of(in[0]), z = matrix_of(in[1]);
  std::vector<HostTensor> out = {zeros({1}), zeros({x.rows()}), zeros({x.rows()})};
  double sum = 0;
  for (int64_t n = 0; n < x.rows(); ++n) {
    Eigen::ArrayXd a = x.row(n).transpose().array() / temperature;
    Eigen::ArrayXd b = z.row(n).transpose().array() / temperature;
    out[1][n] = log_sum(a);
    out[2][n] = log_sum(b);
    Eigen::ArrayXd log_p = a - out[1][n], log_q = b - out[2][n];
    sum += (log_q.exp() * (log_q - log_p)).sum();
  }
  out[0][0] = static_cast<double>(attributes.weight) * temperature * temperature * sum /
              static_cast<double>(attributes.rows_per_sample);
  if (in.size() > 2) out[0][0] += in[2][0];
  return out;
}

Input teacher(HostTensor tensor) {
  Input input = activation(std::move(tensor));
  input.differentiate = false;
  return input;
}

OpCase distillation_case(int64_t rows, int64_t classes, const DistillationAttributes& attributes,
                         double size = 4) {
  OpCase test(DistillationOp(attributes),
              {activation(uniform({rows, classes}, 31, -size, size)),
               teacher(uniform({rows, classes}, 32, -size, size))},
              [=](Tensors in) { return distillation_reference(in, attributes); });
  // The exponentials of a row are fp32, so a row's loss has the rounding of fp32, 2^29 times
  // fp64's.
  auto temperature = static_cast<double>(attributes.temperature);
  double in_fp64 = 0x1p29 * static_cast<double>(rows) * temperature * temperature *
                   (2 * size / temperature + std::log(classes));
  double largest = size / temperature + std::log(classes) + 1;
  test.magnitude = [in_fp64, largest](Tensors in) {
    std::vector<HostTensor> bound = {zeros({1}), zeros({in[0].shape[0]}), zeros({in[0].shape[0]})};
    bound[0][0] = in_fp64;
    for (int k : {1, 2})
      for (double& each : bound[static_cast<size_t>(k)].data) each = largest;
    return bound;
  };
  test.is_loss = true;
  test.step.gradient_scale = 0.125f;
  // e^(x - logsumexp) has the rounding error of its exponent.
  test.floor = 0.02 * std::max(1.0, temperature);
  return test;
}

SPIRE_OP_TEST(DistillationTest);

TEST_P(DistillationTest, ValuesAndGradients) {
  for (float temperature : {1.0f, 4.0f, 0.5f}) {
    check_op(distillation_case(7, 10, {.temperature = temperature}), GetParam());
    check_op(distillation_case(3, 1, {.temperature = temperature}), GetParam());
    check_op(distillation_case(67, 33, {.temperature = temperature, .weight = 0.75f}), GetParam());
  }
}

TEST_P(DistillationTest, ManyClassesAndManyRows) {
  for (int64_t classes : {1001, 2056}) {
    OpCase test = distillation_case(5, classes, {.temperature = 2});
    test.gradient_samples = 8;
    check_op(test, GetParam());
  }
  check_values(distillation_case(5003, 3, {}), GetParam());
}

TEST_P(DistillationTest, SamplesOfManyRows) {
  check_op(distillation_case(68, 10, {.temperature = 3, .weight = 0.5f, .rows_per_sample = 4}),
           GetParam());
}

TEST_P(DistillationTest, IsAddedToTheLossSoFar) {
  OpCase test = distillation_case(6, 5, {.temperature = 2});
  double alone = run_op(*test.op, test.inputs, GetParam())[0][0];
  test.inputs.push_back(sums({{1}, {3.5}}));
  EXPECT_EQ(run_op(*test.op, test.inputs, GetParam())[0][0], 3.5 + alone);
}

// A model that has its teacher's logits has nothing to learn.
TEST_P(DistillationTest, OfEqualProbabilitiesIsZero) {
  HostTensor z = uniform({6, 9}, 33, -4, 4), x = z;
  std::vector<Input> same = {activation(x), teacher(z)};
  auto out = run_op(DistillationOp({.temperature = 3}), same, GetParam());
  EXPECT_EQ(out[0][0], 0);
  std::vector<Input> back = {activation(x), teacher(z), statistic(out[1]), statistic(out[2])};
  auto gradient = run_op(DistillationBackwardOp(), back, GetParam());
  for (double each : gradient[0].data) EXPECT_EQ(each, 0);
}

// For large T it is the mean squared difference of centred logits over two (Hinton et al., 2015).
TEST_P(DistillationTest, OfAHighTemperatureComparesLogits) {
  if (GetParam().dtype != DType::f32) GTEST_SKIP() << "16 bits round the logits";
  std::vector<Input> inputs = {activation({{1, 2}, {1, -1}}), teacher({{1, 2}, {-0.5, 0.5}})};
  double loss = run_op(DistillationOp({.temperature = 100}), inputs, GetParam())[0][0];
  EXPECT_NEAR(loss, (1.5 * 1.5 + 1.5 * 1.5) / 2 / 2, 2e-3);
}

// Logits whose exponentials overflow, and classes that the teacher excludes.
TEST_P(DistillationTest, LargeAndInfiniteLogits) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  std::vector<Input> inputs = {activation({{2, 3}, {1000, 1000, 0, 0, 1, 2}}),
                               teacher({{2, 3}, {512, 512, -512, -infinite, 1, 1}})};
  auto out = run_op(DistillationOp(), inputs, GetParam());
  double p = 1 / (1 + std::exp(1.0) + std::exp(2.0));
  double second = 0.5 * (std::log(0.5 / (std::exp(1.0) * p)) + std::log(0.5 / (std::exp(2.0) * p)));
  EXPECT_NEAR(out[0][0], second, 1e-5);
  inputs = {activation({{1, 2}, {-infinite, 0}}), teacher({{1, 2}, {0, 0}})};
  EXPECT_EQ(run_op(DistillationOp(), inputs, GetParam())[0][0], infinite);
}

TEST_P(DistillationTest, OfNaNIsNaN) {
  for (size_t which : {0u, 1u}) {
    std::vector<Input> inputs = {activation({{1, 2}, {0, 1}}), teacher({{1, 2}, {0, 1}})};
    inputs[which].tensor[1] = std::nan("");
    EXPECT_TRUE(std::isnan(run_op(DistillationOp(), inputs, GetParam())[0][0])) << which;
  }
}

TEST(DistillationOp, RefusesWhatDoesNotFit) {
  TensorSpec x = f32({4, 3});
  EXPECT_EQ(refusal(DistillationOp(), {x, x}), "accepted");
  EXPECT_EQ(refusal(DistillationOp(), {x, x, {{1}, DType::f64}}), "accepted");
  EXPECT_EQ(refusal(DistillationOp(), {x, f32({4, 2})}),
            "[distillation] takes a teacher's fp32 (4, 3) like the logits, got fp32 (4, 2)");
  EXPECT_EQ(refusal(DistillationOp(), {f32({4}), f32({4})}),
            "[distillation] takes logits (N, C), got fp32 (4)");
  EXPECT_EQ(refusal(DistillationOp(), {x, x, f32({1})}),
            "[distillation] takes a loss so far fp64 (1), got fp32 (1)");
  EXPECT_EQ(refusal(DistillationOp({.temperature = 0}), {x, x}),
            "[distillation] temperature is 0; it must be above 0");
  EXPECT_EQ(refusal(DistillationOp({.weight = -1}), {x, x}),
            "[distillation] weight is -1; it must not be negative");
  EXPECT_EQ(refusal(DistillationOp({.rows_per_sample = 3}), {x, x}),
            "[distillation] 4 rows cannot be divided into samples of 3 rows each");
}

}  // namespace
}  // namespace spire::testing
