#include <tests/kernels/ops/batch_norm_reference.h>

namespace spire::testing {
namespace {

OpCase train_case(BatchNormAttributes attributes, HostTensor x) {
  OpCase test;
  Shape channels{x.shape.back()};
  test.op = std::make_shared<BatchNormOp>(attributes);
  test.inputs = {activation(x), parameter(uniform(channels, 32, 0.5, 1.5)),
                 parameter(uniform(channels, 33)), statistic(uniform(channels, 38, 0.1, 2))};
  if (attributes.residual) test.inputs.push_back(activation(uniform(x.shape, 34)));
  test.step.tower_weight = 0.25f;
  test.reference = [attributes](std::span<const HostTensor> in) {
    return train_reference(in, attributes, 0.25);
  };
  test.magnitude = [attributes](std::span<const HostTensor> in) {
    return train_magnitude(in, attributes, 0.25);
  };
  test.kink_share = 0.02;
  test.value_factor = 8;  // fp32 sums of a block's lanes, over 256 terms
  return test;
}

class BatchNormTest : public OpTest {};

TEST_P(BatchNormTest, ValuesAndGradients) {
  for (const BatchNormAttributes& form : batch_norm_forms) {
    check_op(train_case(form, uniform({2, 3, 5, 6}, 31, -1, 3)), GetParam());
    check_op(train_case(form, uniform({7, 3}, 31, -1, 3)), GetParam());
  }
}

// Many blocks for the threads and a part of one; one channel; more channels than lanes.
TEST_P(BatchNormTest, ValuesAndGradientsOverManyBlocks) {
  for (Shape shape : {Shape{3, 733, 6}, Shape{5001, 1}, Shape{57, 300}}) {
    for (const BatchNormAttributes& form : batch_norm_forms) {
      OpCase test = train_case(form, uniform(shape, 31, -1, 3));
      test.gradient_samples = 8;
      test.kink_share = 0.2;
      test.difference_step = 1e-6;  // of thousands of elements few are so close to the relu's kink
      check_op(test, GetParam());
    }
  }
}

// sum x^2 - mean^2 would lose all digits of this variance.
TEST_P(BatchNormTest, LargeMeanLosesNoVariance) {
  check_values(train_case({}, uniform({4, 1000, 3}, 35, 998, 1002)), GetParam());
}

// The first rows of a thread are far from the others, as padding is.
TEST_P(BatchNormTest, OutliersDoNotSpoilTheVariance) {
  HostTensor x = uniform({6000, 4}, 37, 100, 104);
  for (int64_t i = 0; i < 4000; ++i) x[i] = 0;
  check_values(train_case({}, x), GetParam());
}

// One row has no variance: y is beta, and the running variance stays.
TEST_P(BatchNormTest, OneRow) {
  check_values(train_case({}, uniform({1, 5}, 36)), GetParam());
}

TEST_P(BatchNormTest, EvaluationUsesTheRunningStatistics) {
  for (const BatchNormAttributes& form : batch_norm_forms) {
    OpCase test;
    test.op = std::make_shared<BatchNormEvalOp>(form);
    test.inputs = {activation(uniform({3, 4, 5}, 41)), parameter(uniform({5}, 42, 0.5, 1.5)),
                   parameter(uniform({5}, 43)), statistic(uniform({5}, 44)),
                   statistic(uniform({5}, 45, 0.1, 2))};
    if (form.residual) test.inputs.push_back(activation(uniform({3, 4, 5}, 46)));
    test.reference = [form](std::span<const HostTensor> in) {
      const HostTensor* residual = form.residual ? &in[5] : nullptr;
      return std::vector{
          normalized(in[0], {in[3].data, in[4].data}, in[1], in[2], residual, form.relu)};
    };
    test.floor = 8;  // |x - mean| gamma inv_std + |beta| + |residual|
    test.value_factor = 2;
    check_values(test, GetParam());
  }
}

// A frozen batch norm passes gradients on to x and the residual: gamma and beta have none.
TEST_P(BatchNormTest, EvaluationHasAGradient) {
  for (Shape shape : {Shape{3, 4, 5}, Shape{57, 36}}) {
    for (const BatchNormAttributes& form : batch_norm_forms) {
      Shape channels{shape.back()};
      OpCase test;
      test.op = std::make_shared<BatchNormEvalOp>(form);
      test.inputs = {activation(uniform(shape, 41)), statistic(uniform(channels, 42, 0.5, 1.5)),
                     statistic(uniform(channels, 43)), statistic(uniform(channels, 44)),
                     statistic(uniform(channels, 45, 0.1, 2))};
      if (form.residual) test.inputs.push_back(activation(uniform(shape, 46)));
      test.reference = [form](std::span<const HostTensor> in) {
        const HostTensor* residual = form.residual ? &in[5] : nullptr;
        return std::vector{
            normalized(in[0], {in[3].data, in[4].data}, in[1], in[2], residual, form.relu)};
      };
      test.floor = 8;  // |x - mean| gamma inv_std + |beta| + |residual|
      test.value_factor = 2;
      test.kink_share = 0.02;
      test.gradient_samples = 16;
      check_op(test, GetParam());
    }
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
  EXPECT_EQ(BatchNormOp().infer(std::vector{x, c, c, c}).size(), 5u);
  EXPECT_THROW(BatchNormOp().infer(std::vector{x, c, c}), Error);
  EXPECT_THROW(BatchNormOp().infer(std::vector{x, c, other, c}), Error);
  EXPECT_THROW(BatchNormOp().infer(std::vector{x, c, c, other}), Error);
  EXPECT_THROW(BatchNormOp({1e-5f, true, true}).infer(std::vector{x, c, c, c, c}), Error);
}

}  // namespace
}  // namespace spire::testing
