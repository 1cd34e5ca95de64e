#include "kernels/ops/regression_loss/regression_loss.h"

#include <tests/kernels/eager.h>
#include <tests/kernels/matrix_views.h>

namespace spire::testing {
namespace {

// The sum over all elements of d^2, |d|, or both by their weights.
double sum_of(const Eigen::ArrayXd& d, const RegressionAttributes& a) {
  if (a.kind == Regression::mse) return d.square().sum();
  if (a.kind == Regression::l1) return d.abs().sum();
  return (double{a.l1} * d.abs() + double{a.l2} * d.square()).sum();
}

OpCase loss_case(const RegressionAttributes& attributes, Shape shape) {
  OpCase test;
  test.op = std::make_shared<RegressionLossOp>(attributes);
  test.inputs = {activation(uniform(shape, 101)), activation(uniform(shape, 102))};
  test.inputs[1].differentiate = false;
  test.reference = [=](Tensors in) {
    double features = static_cast<double>(in[0].size() / in[0].shape[0]);
    Eigen::ArrayXd d = array_of(in[0]) - array_of(in[1]);
    double loss = sum_of(d, attributes), squares = sum_of(d, {Regression::mse});
    return std::vector<HostTensor>{{{1}, {loss / features}}, {{1}, {squares / features}}};
  };
  // Terms are rounded to fp32 before their fp64 sum.
  test.magnitude = [reference = test.reference](Tensors in) {
    auto sums = reference(in);
    for (HostTensor& sum : sums) sum[0] *= 0x1p29;
    return sums;
  };
  test.is_loss = true;
  test.step.gradient_scale = 0.25f;
  return test;
}

SPIRE_OP_TEST(RegressionLossTest);

TEST_P(RegressionLossTest, ValuesAndGradients) {
  for (Regression kind : {Regression::mse, Regression::l1, Regression::l1_l2}) {
    check_op(loss_case({kind}, {5, 3, 4}), GetParam());
    check_op(loss_case({kind}, {7}), GetParam());
    check_values(loss_case({kind}, {3, 5000}), GetParam());
    check_values(loss_case({kind}, {3, 5001}), GetParam());
  }
}

// A target in fp32 beside predictions of the run's dtype.
TEST_P(RegressionLossTest, ATargetOfItsOwnType) {
  OpCase test = loss_case({Regression::l1_l2}, {5, 77});
  test.inputs[1] = statistic(uniform({5, 77}, 102));
  check_op(test, GetParam());
}

TEST_P(RegressionLossTest, WeightsOfL1AndL2) {
  check_op(loss_case({Regression::l1_l2, 0.25f, 3.0f}, {4, 9}), GetParam());
}

// The second output is a metric, the same number for every loss.
TEST_P(RegressionLossTest, SquaredErrorsAreTheSameForEveryKind) {
  std::vector<Input> in = {activation(uniform({6, 30}, 5)), activation(uniform({6, 30}, 6))};
  auto mse = run_op(RegressionLossOp({Regression::mse}), in, GetParam());
  EXPECT_EQ(mse[0].data, mse[1].data);
  for (Regression kind : {Regression::l1, Regression::l1_l2})
    EXPECT_EQ(run_op(RegressionLossOp({kind}), in, GetParam())[1].data, mse[1].data);
}

// The gradient of |p - t| is 0 where p = t, not a sign of zero.
TEST_P(RegressionLossTest, L1HasNoSlopeAtItsTarget) {
  std::vector<Input> same = {activation({{2}, {0.5, -3}}), activation({{2}, {0.5, -3}})};
  auto gradient = run_op(RegressionLossBackwardOp({Regression::l1}), same, GetParam())[0];
  EXPECT_EQ(gradient.data, std::vector<double>(2, 0.0));
}

TEST(RegressionLossOp, RefusesTargetsThatDiffer) {
  TensorSpec p{{4, 3}, DType::f32}, labels{{4}, DType::i32};
  EXPECT_THROW(RegressionLossOp({Regression::mse}).infer(std::vector{p, labels}), Error);
  EXPECT_THROW(RegressionLossOp({Regression::l1}).infer(std::vector{labels, labels}), Error);
}

OpCase mean_loss_case(Shape shape) {
  OpCase test(MeanLossOp(), {activation(uniform(shape, 111))}, [](Tensors in) {
    double features = static_cast<double>(in[0].size() / in[0].shape[0]);
    return HostTensor{{1}, {array_of(in[0]).sum() / features}};
  });
  // An fp64 sum of as many terms, of which none is rounded.
  test.magnitude = [reference = test.reference](Tensors in) {
    auto sums = reference(absolute(in));
    sums[0][0] *= static_cast<double>(in[0].size());
    return sums;
  };
  test.gradient_factor = 4;
  test.is_loss = true;
  test.step.gradient_scale = 0.25f;
  return test;
}

SPIRE_OP_TEST(MeanLossTest);

TEST_P(MeanLossTest, ValuesAndGradients) {
  for (Shape shape : {Shape{5, 3, 4}, Shape{7}, Shape{1, 1}}) {
    check_op(mean_loss_case(shape), GetParam());
  }
  check_values(mean_loss_case({3, 5000}), GetParam());
  check_values(mean_loss_case({3, 5001}), GetParam());
}

// As for every loss, the gradient has the batch's factor and the loss scale: 64 / 4 / 8.
TEST_P(MeanLossTest, GradientHasTheLossScale) {
  DeviceTensor scale = upload({{1}, {64}}, DType::f64, false, GetParam().device);
  StepContext step{.gradient_scale = 0.25f,
                   .loss_scale = static_cast<const double*>(scale.memory->data())};
  auto dx = run_op(MeanLossBackwardOp(), std::vector{activation(zeros({3, 8}))}, GetParam(), step);
  EXPECT_EQ(dx[0].data, std::vector<double>(24, 2));
}

TEST(MeanLossOp, RefusesWhatIsNoBatchOfNumbers) {
  EXPECT_EQ(refusal(MeanLossOp(), {{{4}, DType::i32}}),
            "[mean_loss] takes fp32, bf16 or fp16 (N, ..), got int32 (4)");
  EXPECT_EQ(refusal(MeanLossOp(), {f32({})}),
            "[mean_loss] takes fp32, bf16 or fp16 (N, ..), got fp32 ()");
}

}  // namespace
}  // namespace spire::testing
