#include <spire/kernels/regression_loss.h>

#include <cmath>

#include <tests/kernels/op_test.h>

namespace spire::testing {

namespace {

OpCase loss_case(Regression kind, Shape shape) {
  OpCase test;
  test.op = std::make_shared<RegressionLossOp>(kind);
  test.inputs = {activation(uniform(shape, 101)), activation(uniform(shape, 102))};
  test.inputs[1].differentiate = false;
  test.reference = [kind](std::span<const HostTensor> in) {
    HostTensor loss = zeros({1});
    double features = static_cast<double>(in[0].size() / in[0].shape[0]);
    for (int64_t i = 0; i < in[0].size(); ++i) {
      double d = in[0][i] - in[1][i];
      loss[0] += (kind == Regression::mse ? d * d : std::abs(d)) / features;
    }
    return std::vector<HostTensor>{loss};
  };
  // Terms are rounded to fp32 before their fp64 sum.
  test.magnitude = [reference = test.reference](std::span<const HostTensor> in) {
    auto loss = reference(in);
    loss[0][0] *= 0x1p29;
    return loss;
  };
  test.is_loss = true;
  test.step.gradient_scale = 0.25f;
  return test;
}

class RegressionLossTest : public OpTest {};

}  // namespace

TEST_P(RegressionLossTest, ValuesAndGradients) {
  for (Regression kind : {Regression::mse, Regression::l1}) {
    check_op(loss_case(kind, {5, 3, 4}), GetParam());
    check_op(loss_case(kind, {7}), GetParam());
    check_values(loss_case(kind, {3, 5000}), GetParam());
  }
}

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

}  // namespace spire::testing
