#include "kernels/ops/rms_norm/rms_norm.h"

#include <cmath>

#include <tests/kernels/matrix_views.h>

namespace spire::testing {
namespace {

constexpr double rms_norm_epsilon = 1e-5;

// y = gamma x rstd, rstd of each row.
std::vector<HostTensor> rms_norm_reference(std::span<const HostTensor> in) {
  auto x = matrix_of(in[0]).array();
  auto gamma = matrix_of(in[1]).row(0).array();
  std::vector<HostTensor> out = {in[0], zeros({x.rows()})};
  auto rstd = array_of(out[1]);
  rstd = (x.square().rowwise().mean() + rms_norm_epsilon).sqrt().inverse();
  matrix_of(out[0]).array() = (x.colwise() * rstd).rowwise() * gamma;
  return out;
}

OpCase rms_norm_case(Shape shape) {
  OpCase test;
  test.op = std::make_shared<RmsNormOp>();
  test.inputs = {activation(uniform(shape, 311, -1, 3)),
                 parameter(uniform({shape.back()}, 312, 0.5, 1.5))};
  test.reference = rms_norm_reference;
  // Values of a row are relative to its largest.
  test.magnitude = [](std::span<const HostTensor> in) {
    auto bound = rms_norm_reference(in);
    for (double& b : bound[0].data) b = std::abs(b) + 3;
    for (double& b : bound[1].data) b *= 3;
    return bound;
  };
  test.floor = 0.5;
  return test;
}

class RmsNormTest : public OpTest {};

TEST_P(RmsNormTest, ValuesAndGradients) {
  for (Shape shape : {Shape{3, 5}, Shape{2, 7, 64}, Shape{9, 77}, Shape{2, 3, 2, 16}, Shape{150}})
    check_op(rms_norm_case(shape), GetParam());
}

// More rows than a chunk has, so that sums of chunks are added up.
TEST_P(RmsNormTest, SumsOverManyRows) {
  OpCase test = rms_norm_case({205, 6});
  test.gradient_samples = 20;
  test.gradient_factor = 32;
  check_op(test, GetParam());
}

TEST_P(RmsNormTest, BitsDoNotDependOnTheThreadCount) {
  std::vector<Input> inputs = {activation(uniform({300, 35}, 313)),
                               activation(uniform({300, 35}, 314)), parameter(uniform({35}, 315)),
                               statistic(uniform({300}, 316, 0.5, 1))};
  Environment one = GetParam(), three = GetParam();
  one.threads = 1;
  three.threads = 3;
  auto a = run_op(RmsNormBackwardOp(), inputs, one), b = run_op(RmsNormBackwardOp(), inputs, three);
  for (size_t k = 0; k < a.size(); ++k) EXPECT_EQ(a[k].data, b[k].data) << "output " << k;
}

// epsilon keeps rstd finite.
TEST_P(RmsNormTest, RowsOfZerosStayZero) {
  std::vector<Input> inputs = {activation(zeros({2, 3})), parameter(uniform({3}, 317))};
  auto out = run_op(RmsNormOp(), inputs, GetParam());
  EXPECT_EQ(out[0].data, zeros({2, 3}).data);
  EXPECT_NEAR(out[1][0], 1 / std::sqrt(rms_norm_epsilon), 1e-4);
}

SPIRE_TEST_EVERYWHERE(RmsNormTest);

TEST(RmsNormOp, RefusesInputsThatDoNotFit) {
  TensorSpec x{{4, 10}, DType::bf16}, c{{10}, DType::f32}, other{{4}, DType::f32};
  EXPECT_EQ(RmsNormOp().infer(std::vector{x, c})[1].shape, Shape{4});
  EXPECT_EQ(refusal(RmsNormOp(), {x, other}), "[rms_norm] gamma must be fp32 (10), got fp32 (4)");
  EXPECT_EQ(refusal(RmsNormOp({-1.0f}), {x, c}), "[rms_norm] epsilon is -1; it must be positive");
  EXPECT_EQ(refusal(RmsNormOp(), {{{4, 10}, DType::i32}, c}),
            "[rms_norm] takes an input (.., C) of fp32 or bf16, got int32 (4, 10)");
  EXPECT_EQ(refusal(RmsNormBackwardOp(), {x, x, c, c}),
            "[rms_norm_backward] rstd must be fp32 (4), got fp32 (10)");
  EXPECT_EQ(refusal(RmsNormBackwardOp(), {other, x, c, other}),
            "[rms_norm_backward] gradient fp32 (4) does not fit bf16 (4, 10)");
}

}  // namespace
}  // namespace spire::testing
