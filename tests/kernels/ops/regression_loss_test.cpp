#include "kernels/ops/regression_loss/regression_loss.h"

#include <tests/kernels/matrix_views.h>

namespace spire::testing {
namespace {

// The sum over all elements of d^2, |d|, or both by their weights.
double sum_of(Regression kind, const Eigen::ArrayXd& d, RegressionWeights weights) {
  if (kind == Regression::mse) return d.square().sum();
  if (kind == Regression::l1) return d.abs().sum();
  return (double{weights.l1} * d.abs() + double{weights.l2} * d.square()).sum();
}

OpCase loss_case(Regression kind, Shape shape, RegressionWeights weights = {}) {
  OpCase test;
  test.op = std::make_shared<RegressionLossOp>(kind, weights);
  test.inputs = {activation(uniform(shape, 101)), activation(uniform(shape, 102))};
  test.inputs[1].differentiate = false;
  test.reference = [=](std::span<const HostTensor> in) {
    double features = static_cast<double>(in[0].size() / in[0].shape[0]);
    Eigen::ArrayXd d = array_of(in[0]) - array_of(in[1]);
    double loss = sum_of(kind, d, weights), squares = sum_of(Regression::mse, d, weights);
    return std::vector<HostTensor>{{{1}, {loss / features}}, {{1}, {squares / features}}};
  };
  // Terms are rounded to fp32 before their fp64 sum.
  test.magnitude = [reference = test.reference](std::span<const HostTensor> in) {
    auto sums = reference(in);
    for (HostTensor& sum : sums) sum[0] *= 0x1p29;
    return sums;
  };
  test.is_loss = true;
  test.step.gradient_scale = 0.25f;
  return test;
}

class RegressionLossTest : public OpTest {};

TEST_P(RegressionLossTest, ValuesAndGradients) {
  for (Regression kind : {Regression::mse, Regression::l1, Regression::l1_l2}) {
    check_op(loss_case(kind, {5, 3, 4}), GetParam());
    check_op(loss_case(kind, {7}), GetParam());
    check_values(loss_case(kind, {3, 5000}), GetParam());
    check_values(loss_case(kind, {3, 5001}), GetParam());
  }
}

// A target in fp32 beside predictions of the run's dtype.
TEST_P(RegressionLossTest, ATargetOfItsOwnType) {
  OpCase test = loss_case(Regression::l1_l2, {5, 77});
  test.inputs[1] = statistic(uniform({5, 77}, 102));
  check_op(test, GetParam());
}

TEST_P(RegressionLossTest, WeightsOfL1AndL2) {
  check_op(loss_case(Regression::l1_l2, {4, 9}, {.l1 = 0.25f, .l2 = 3.0f}), GetParam());
}

// The second output is a metric, the same number for every loss.
TEST_P(RegressionLossTest, SquaredErrorsAreTheSameForEveryKind) {
  std::vector<Input> in = {activation(uniform({6, 30}, 5)), activation(uniform({6, 30}, 6))};
  auto mse = run_op(RegressionLossOp(Regression::mse), in, GetParam());
  EXPECT_EQ(mse[0].data, mse[1].data);
  for (Regression kind : {Regression::l1, Regression::l1_l2})
    EXPECT_EQ(run_op(RegressionLossOp(kind), in, GetParam())[1].data, mse[1].data);
}

// The gradient of |p - t| is 0 where p = t, not a sign of zero.
TEST_P(RegressionLossTest, L1HasNoSlopeAtItsTarget) {
  std::vector<Input> same = {activation({{2}, {0.5, -3}}), activation({{2}, {0.5, -3}})};
  auto gradient = run_op(RegressionLossBackwardOp(Regression::l1), same, GetParam())[0];
  EXPECT_EQ(gradient.data, std::vector<double>(2, 0.0));
}

SPIRE_TEST_EVERYWHERE(RegressionLossTest);

TEST(RegressionLossOp, RefusesTargetsThatDiffer) {
  TensorSpec p{{4, 3}, DType::f32}, labels{{4}, DType::i32};
  EXPECT_THROW(RegressionLossOp(Regression::mse).infer(std::vector{p, labels}), Error);
  EXPECT_THROW(RegressionLossOp(Regression::l1).infer(std::vector{labels, labels}), Error);
}

}  // namespace
}  // namespace spire::testing
