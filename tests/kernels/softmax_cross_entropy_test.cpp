#include <spire/kernels/softmax_cross_entropy.h>

#include <cmath>

#include <tests/kernels/op_test.h>

namespace spire::testing {

namespace {

double log_sum_exp(const HostTensor& x, int64_t row) {
  int64_t classes = x.shape[1];
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[row * classes + c]);
  return std::log(sum);
}

int64_t first_largest(const HostTensor& x, int64_t row) {
  int64_t classes = x.shape[1], best = 0;
  for (int64_t c = 1; c < classes; ++c) {
    if (x[row * classes + c] > x[row * classes + best]) best = c;
  }
  return best;
}

// loss, correct, logsumexp
std::vector<HostTensor> reference(std::span<const HostTensor> in, double smoothing) {
  const HostTensor &x = in[0], &label = in[1];
  int64_t rows = x.shape[0], classes = x.shape[1];
  std::vector<HostTensor> out = {zeros({1}), zeros({1}), zeros({rows})};
  for (int64_t n = 0; n < rows; ++n) {
    int64_t l = static_cast<int64_t>(label[n]);
    out[2][n] = log_sum_exp(x, n);
    for (int64_t c = 0; c < classes; ++c) {
      double target = (c == l ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
      out[0][0] += target * (out[2][n] - x[n * classes + c]);
    }
    out[1][0] += first_largest(x, n) == l;
  }
  return out;
}

OpCase loss_case(int64_t rows, int64_t classes, float smoothing, double size) {
  OpCase test;
  test.op = std::make_shared<SoftmaxCrossEntropyOp>(SoftmaxCrossEntropyAttributes{smoothing});
  HostTensor label = uniform({rows}, 52, 0, static_cast<double>(classes));
  for (double& l : label.data) l = std::floor(l);
  test.inputs = {activation(uniform({rows, classes}, 51, -size, size)), labels(label)};
  double s = static_cast<double>(smoothing);
  test.reference = [s](std::span<const HostTensor> in) { return reference(in, s); };
  // The sum of a row is fp32, so a row's loss has its relative rounding: 2^29 that of fp64.
  double in_fp64 = 0x1p29 * static_cast<double>(rows) * (size + std::log(classes));
  test.magnitude = [in_fp64, size](std::span<const HostTensor> in) {
    std::vector<HostTensor> bound = {zeros({1}), zeros({1}), zeros({in[0].shape[0]})};
    bound[0][0] = in_fp64;
    for (double& b : bound[2].data) b = size + 3;
    return bound;
  };
  test.is_loss = true;
  test.step.gradient_scale = 0.125f;
  // e^(x - logsumexp) carries the rounding of its exponent.
  test.floor = 0.02;
  return test;
}

class SoftmaxCrossEntropyTest : public OpTest {};

}  // namespace

TEST_P(SoftmaxCrossEntropyTest, ValuesAndGradients) {
  for (float smoothing : {0.0f, 0.1f}) {
    check_op(loss_case(7, 10, smoothing, 4), GetParam());
    check_op(loss_case(3, 1, smoothing, 4), GetParam());
    check_op(loss_case(67, 33, smoothing, 4), GetParam());
  }
}

// Logits whose exponentials overflow: log-sum-exp about the largest does not.
TEST_P(SoftmaxCrossEntropyTest, LargeLogits) {
  std::vector<Input> inputs = {activation({{2, 3}, {1000, 0, -1000, -512, -512, -512}}),
                               labels({{2}, {1, 0}})};
  auto out = run_op(SoftmaxCrossEntropyOp(), inputs, GetParam());
  EXPECT_NEAR(out[0][0], 1000 + std::log(3.0), 1e-4);
  EXPECT_EQ(out[1][0], 1);
}

TEST_P(SoftmaxCrossEntropyTest, FirstOfEqualLogitsWins) {
  std::vector<Input> inputs = {activation({{3, 3}, {1, 1, 0, 1, 1, 0, 0, 2, 2}}),
                               labels({{3}, {0, 1, 1}})};
  EXPECT_EQ(run_op(SoftmaxCrossEntropyOp(), inputs, GetParam())[1][0], 2);
}

TEST_P(SoftmaxCrossEntropyTest, LabelOutOfRangeMakesTheLossNaN) {
  for (double wrong : {-1.0, 3.0, 1e9}) {
    std::vector<Input> inputs = {activation({{2, 3}, {1, 2, 3, 4, 5, 6}}),
                                 labels({{2}, {wrong, 2}})};
    auto out = run_op(SoftmaxCrossEntropyOp(), inputs, GetParam());
    EXPECT_TRUE(std::isnan(out[0][0]));
    EXPECT_EQ(out[1][0], 1);
    inputs.push_back(statistic(out[2]));
    auto gradient = run_op(SoftmaxCrossEntropyBackwardOp({}), inputs, GetParam());
    for (double g : gradient[0].data) EXPECT_TRUE(std::isfinite(g));
  }
}

SPIRE_TEST_EVERYWHERE(SoftmaxCrossEntropyTest);

TEST(SoftmaxCrossEntropyOp, RefusesInputsThatDoNotFit) {
  TensorSpec logits{{4, 10}, DType::f32}, label{{4}, DType::i32}, soft{{4, 10}, DType::f32};
  EXPECT_EQ(SoftmaxCrossEntropyOp().infer(std::vector{logits, label}).size(), 3u);
  EXPECT_THROW(SoftmaxCrossEntropyOp().infer(std::vector{logits, soft}), Error);
  EXPECT_THROW(SoftmaxCrossEntropyOp().infer(std::vector{label, label}), Error);
  EXPECT_THROW(SoftmaxCrossEntropyOp({1.0f}).infer(std::vector{logits, label}), Error);
}

}  // namespace spire::testing
