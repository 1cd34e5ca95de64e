#include <spire/kernels/batch_norm.h>

#include <cmath>

#include <tests/kernels/op_test.h>

namespace spire::testing {

namespace {

constexpr double epsilon = static_cast<double>(1e-5f);

struct Moments {
  std::vector<double> mean, var;  // (C), var biased
};

Moments moments(const HostTensor& x) {
  int64_t channels = x.shape.back(), rows = x.size() / channels;
  Moments m{std::vector<double>(static_cast<size_t>(channels)), {}};
  m.var = m.mean;
  double n = static_cast<double>(rows);
  for (int64_t i = 0; i < x.size(); ++i) m.mean[static_cast<size_t>(i % channels)] += x[i] / n;
  for (int64_t i = 0; i < x.size(); ++i) {
    size_t c = static_cast<size_t>(i % channels);
    m.var[c] += (x[i] - m.mean[c]) * (x[i] - m.mean[c]) / n;
  }
  return m;
}

// y = (x - mean) / sqrt(var + epsilon) gamma + beta [+ residual] [relu]
HostTensor normalised(const HostTensor& x, const Moments& m, const HostTensor& gamma,
                      const HostTensor& beta, const HostTensor* residual, bool relu) {
  HostTensor y = x;
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t c = i % x.shape.back();
    size_t k = static_cast<size_t>(c);
    y[i] = (x[i] - m.mean[k]) / std::sqrt(m.var[k] + epsilon) * gamma[c] + beta[c];
    if (residual) y[i] += (*residual)[i];
    if (relu) y[i] = std::max(y[i], 0.0);
  }
  return y;
}

// y, mean, inv_std, stat_mean, stat_var
std::vector<HostTensor> train_reference(std::span<const HostTensor> in,
                                        BatchNormAttributes attributes, double tower_weight) {
  const HostTensor& x = in[0];
  Moments m = moments(x);
  double n = static_cast<double>(x.size() / x.shape.back());
  double unbias = n > 1 ? n / (n - 1) : 1;
  std::vector<HostTensor> out = {
      normalised(x, m, in[1], in[2], attributes.residual ? &in[3] : nullptr, attributes.relu)};
  for (int k = 0; k < 4; ++k) out.push_back(zeros({x.shape.back()}));
  for (int64_t c = 0; c < x.shape.back(); ++c) {
    size_t k = static_cast<size_t>(c);
    out[1][c] = m.mean[k];
    out[2][c] = 1 / std::sqrt(m.var[k] + epsilon);
    out[3][c] = tower_weight * m.mean[k];
    out[4][c] = tower_weight * m.var[k] * unbias;
  }
  return out;
}

OpCase train_case(BatchNormAttributes attributes, HostTensor x) {
  OpCase test;
  Shape channels{x.shape.back()};
  test.op = std::make_shared<BatchNormOp>(attributes);
  test.inputs = {activation(x), parameter(uniform(channels, 32, 0.5, 1.5)),
                 parameter(uniform(channels, 33))};
  if (attributes.residual) test.inputs.push_back(activation(uniform(x.shape, 34)));
  test.step.tower_weight = 0.25f;
  test.reference = [attributes](std::span<const HostTensor> in) {
    return train_reference(in, attributes, 0.25);
  };
  // y: |gamma| (|x| + |mean|) inv_std + |beta| + |residual|. Means: mean |x|. The variance and
  // inv_std are held to their own size: nothing may be lost to a large mean.
  test.magnitude = [attributes](std::span<const HostTensor> in) {
    auto out = train_reference(in, attributes, 0.25);
    auto sizes = train_reference(absolute(in), attributes, 0.25);
    for (int64_t i = 0; i < out[0].size(); ++i) {
      int64_t c = i % in[0].shape.back();
      double deviation = (std::abs(in[0][i]) + sizes[1][c]) * out[2][c];
      out[0][i] = deviation * in[1][c] + std::abs(in[2][c]);
      if (attributes.residual) out[0][i] += std::abs(in[3][i]);
    }
    return std::vector<HostTensor>{out[0], sizes[1], out[2], sizes[3], out[4]};
  };
  test.kink_share = 0.02;
  test.value_factor = 8;  // fp32 sums of a block's lanes, over 256 terms
  return test;
}

class BatchNormTest : public OpTest {};

constexpr BatchNormAttributes forms[] = {
    {1e-5f, false, false}, {1e-5f, true, false}, {1e-5f, false, true}, {1e-5f, true, true}};

}  // namespace

TEST_P(BatchNormTest, ValuesAndGradients) {
  for (const BatchNormAttributes& form : forms) {
    check_op(train_case(form, uniform({2, 3, 5, 6}, 31, -1, 3)), GetParam());
    check_op(train_case(form, uniform({7, 3}, 31, -1, 3)), GetParam());
  }
}

// Many blocks, shared by the threads, with a ragged end; one channel; more channels than lanes.
TEST_P(BatchNormTest, ValuesAndGradientsOverManyBlocks) {
  for (Shape shape : {Shape{3, 733, 6}, Shape{5001, 1}, Shape{57, 300}}) {
    for (const BatchNormAttributes& form : forms) {
      OpCase test = train_case(form, uniform(shape, 31, -1, 3));
      test.gradient_samples = 8;
      test.kink_share = 0.2;
      check_op(test, GetParam());
    }
  }
}

TEST_P(BatchNormTest, LargeMeanLosesNoVariance) {
  check_values(train_case({}, uniform({4, 1000, 3}, 35, 998, 1002)), GetParam());
}

// One row: the unbiased variance divides by 1, y is beta.
TEST_P(BatchNormTest, OneRow) {
  check_values(train_case({}, uniform({1, 5}, 36)), GetParam());
}

TEST_P(BatchNormTest, EvaluationUsesTheRunningStatistics) {
  for (const BatchNormAttributes& form : forms) {
    OpCase test;
    test.op = std::make_shared<BatchNormEvalOp>(form);
    test.inputs = {activation(uniform({3, 4, 5}, 41)), parameter(uniform({5}, 42, 0.5, 1.5)),
                   parameter(uniform({5}, 43)), statistic(uniform({5}, 44)),
                   statistic(uniform({5}, 45, 0.1, 2))};
    if (form.residual) test.inputs.push_back(activation(uniform({3, 4, 5}, 46)));
    test.reference = [form](std::span<const HostTensor> in) {
      const HostTensor* residual = form.residual ? &in[5] : nullptr;
      return std::vector{
          normalised(in[0], {in[3].data, in[4].data}, in[1], in[2], residual, form.relu)};
    };
    test.floor = 8;  // |x - mean| gamma inv_std + |beta| + |residual|
    test.value_factor = 2;
    check_values(test, GetParam());
  }
}

SPIRE_TEST_EVERYWHERE(BatchNormTest);

TEST(BatchNormOp, IsFusedWithReluAndResidual) {
  BatchNormOp plain;
  auto relu = plain.with_relu(), residual = plain.with_residual();
  ASSERT_TRUE(relu && residual);
  EXPECT_TRUE(static_cast<const BatchNormOp&>(*relu).attributes().relu);
  EXPECT_TRUE(static_cast<const BatchNormOp&>(*residual).attributes().residual);
  EXPECT_TRUE(static_cast<const BatchNormOp&>(*residual).attributes().relu);
  EXPECT_EQ(relu->with_relu(), nullptr);
  EXPECT_EQ(relu->with_residual(), nullptr);
}

TEST(BatchNormOp, RefusesInputsThatDoNotFit) {
  TensorSpec x{{2, 4, 4, 8}, DType::f32}, c{{8}, DType::f32}, other{{4}, DType::f32};
  EXPECT_EQ(BatchNormOp().infer(std::vector{x, c, c}).size(), 5u);
  EXPECT_THROW(BatchNormOp().infer(std::vector{x, c}), Error);
  EXPECT_THROW(BatchNormOp().infer(std::vector{x, c, other}), Error);
  EXPECT_THROW(BatchNormOp({1e-5f, true, true}).infer(std::vector{x, c, c, c}), Error);
}

}  // namespace spire::testing
