#include <tests/kernels/eager.h>
#include <tests/kernels/matrix_views.h>

#include "kernels/ops/regression_loss/regression_loss.h"

namespace spire::testing {
namespace {

OpCase mean_loss_case(Shape shape) {
  OpCase test;
  test.op = std::make_shared<MeanLossOp>();
  test.inputs = {activation(uniform(shape, 111))};
  test.reference = [](std::span<const HostTensor> in) {
    double features = static_cast<double>(in[0].size() / in[0].shape[0]);
    return std::vector<HostTensor>{{{1}, {array_of(in[0]).sum() / features}}};
  };
  // An fp64 sum of as many terms, of which none is rounded.
  test.magnitude = [reference = test.reference](std::span<const HostTensor> in) {
    auto sums = reference(absolute(in));
    sums[0][0] *= static_cast<double>(in[0].size());
    return sums;
  };
  test.gradient_factor = 4;
  test.is_loss = true;
  test.step.gradient_scale = 0.25f;
  return test;
}

class MeanLossTest : public OpTest {};

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

SPIRE_TEST_EVERYWHERE(MeanLossTest);

TEST(MeanLossOp, RefusesWhatIsNoBatchOfNumbers) {
  EXPECT_EQ(refusal(MeanLossOp(), {{{4}, DType::i32}}),
            "[mean_loss] takes fp32, bf16 or fp16 (N, ..), got int32 (4)");
  EXPECT_EQ(refusal(MeanLossOp(), {f32({})}),
            "[mean_loss] takes fp32, bf16 or fp16 (N, ..), got fp32 ()");
}

}  // namespace
}  // namespace spire::testing
