#include "kernels/ops/row_norm/row_norm.h"

#include <cmath>

#include <tests/kernels/matrix_views.h>

#include "kernels/ops/elementwise/elementwise.h"

namespace spire::testing {
namespace {

constexpr double row_norm_epsilon = 1e-5;

// y = gamma (x - mean) rstd + beta, mean and rstd of each row; without beta mean = 0, which is no
// output then.
std::vector<HostTensor> row_norm_reference(Tensors in) {
  bool centered = in.size() == 3;
  auto x = matrix_of(in[0]).array();
  std::vector<HostTensor> out = {in[0], zeros({x.rows()}), zeros({x.rows()})};
  auto y = matrix_of(out[0]).array();
  auto mean = array_of(out[1]), rstd = array_of(out[2]);
  if (centered) mean = x.rowwise().mean();
  y = x.colwise() - mean;
  rstd = (y.square().rowwise().mean() + row_norm_epsilon).sqrt().inverse();
  y = (y.colwise() * rstd).rowwise() * matrix_of(in[1]).row(0).array();
  if (centered) y = y.rowwise() + matrix_of(in[2]).row(0).array();
  if (!centered) out.erase(out.begin() + 1);
  return out;
}

OpCase row_norm_case(bool centered, Shape shape) {
  OpCase test;
  int64_t width = shape.back();
  test.inputs = {activation(uniform(shape, 301, -1, 3)),
                 parameter(uniform({width}, 302, 0.5, 1.5))};
  test.op = std::make_shared<RmsNormOp>();
  if (centered) {
    test.inputs.push_back(parameter(uniform({width}, 303)));
    test.op = std::make_shared<LayerNormOp>();
  }
  test.reference = row_norm_reference;
  // Values of a row are relative to the largest terms: |gamma xhat| + |beta| < 6, |x| < 3.
  test.magnitude = [](Tensors in) {
    auto bound = row_norm_reference(in);
    for (double& b : bound[0].data) b = std::abs(b) + 3;
    for (double& b : bound.back().data) b *= 3;
    if (bound.size() == 3)
      for (double& b : bound[1].data) b = 3;
    return bound;
  };
  test.floor = 0.5;
  test.any_threads = true;
  return test;
}

SPIRE_OP_TEST(RowNormTest);

TEST_P(RowNormTest, ValuesAndGradients) {
  for (bool centered : {true, false})
    for (Shape shape : {Shape{3, 5}, Shape{2, 7, 64}, Shape{9, 77}, Shape{2, 3, 2, 16}, Shape{150}})
      check_op(row_norm_case(centered, shape), GetParam());
}

// More rows than a chunk has, so that sums of chunks are added up.
TEST_P(RowNormTest, SumsOverManyRows) {
  for (bool centered : {true, false}) {
    OpCase test = row_norm_case(centered, {205, 6});
    test.gradient_samples = 20;
    test.gradient_factor = 32;
    check_op(test, GetParam());
  }
}

// A large common offset costs the variance nothing, unlike sum x^2 - mean^2.
TEST_P(RowNormTest, KeepsTheVarianceOfShiftedRows) {
  HostTensor x{{1, 4}, {4096, 4128, 4160, 4192}};  // exact in bf16
  HostTensor ones{{4}, {1, 1, 1, 1}};
  std::vector<Input> inputs = {activation(x), parameter(ones), parameter(zeros({4}))};
  auto out = run_op(LayerNormOp(), inputs, GetParam());
  EXPECT_EQ(out[1][0], 4144);
  EXPECT_NEAR(out[2][0], 1 / std::sqrt(1280.0), 1e-7);
}

// The variance is 0, epsilon keeps rstd finite, and x - mean is exactly 0.
TEST_P(RowNormTest, ConstantRowsGiveBeta) {
  HostTensor x{{2, 3}, {5, 5, 5, -2, -2, -2}}, beta{{3}, {1, 2, -3}};
  std::vector<Input> inputs = {activation(x), parameter(uniform({3}, 308)), parameter(beta)};
  auto y = run_op(LayerNormOp(), inputs, GetParam())[0];
  EXPECT_EQ(y.data, (std::vector<double>{1, 2, -3, 1, 2, -3}));
}

// epsilon keeps rstd finite.
TEST_P(RowNormTest, RowsOfZerosStayZero) {
  std::vector<Input> inputs = {activation(zeros({2, 3})), parameter(uniform({3}, 317))};
  auto out = run_op(RmsNormOp(), inputs, GetParam());
  EXPECT_EQ(out[0].data, zeros({2, 3}).data);
  EXPECT_NEAR(out[1][0], 1 / std::sqrt(row_norm_epsilon), 1e-4);
}

// What other uses of x contribute to its gradient is added to dx with the bits of an op behind.
TEST_P(RowNormTest, AddsOtherGradientsAsAnOpWould) {
  for (bool centered : {true, false})
    for (Shape shape : {Shape{9, 77}, Shape{5, 64}}) {
      int64_t rows = shape[0], width = shape[1];
      std::vector<Input> inputs = {
          activation(uniform(shape, 311)), activation(uniform(shape, 312, -1, 3)),
          parameter(uniform({width}, 313)), statistic(uniform({rows}, 314, 0.5, 2))};
      if (centered) inputs.insert(inputs.end() - 1, statistic(uniform({rows}, 315)));
      auto run = [&] {
        return centered ? run_op(LayerNormBackwardOp(), inputs, GetParam())
                        : run_op(RmsNormBackwardOp(), inputs, GetParam());
      };
      Input addend = activation(uniform(shape, 316));
      auto want = run();
      want[0] = run_op(AddOp(), std::vector{activation(want[0]), addend}, GetParam())[0];
      inputs.push_back(addend);
      auto got = run();
      for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i].data, want[i].data) << i;
    }
}

TEST(RowNormOps, RefuseInputsThatDoNotFit) {
  TensorSpec x{{4, 10}, DType::bf16}, c{{10}, DType::f32}, other{{4}, DType::f32};
  EXPECT_EQ(LayerNormOp().infer(std::vector{x, c, c})[1].shape, Shape{4});
  EXPECT_THROW(LayerNormOp().infer(std::vector{x, c}), Error);
  EXPECT_THROW(LayerNormOp().infer(std::vector{x, other, c}), Error);
  EXPECT_THROW(LayerNormOp({-1.0f}).infer(std::vector{x, c, c}), Error);
  EXPECT_THROW(LayerNormOp().infer(std::vector{{{4, 10}, DType::i32}, c, c}), Error);
  EXPECT_EQ(RmsNormOp().infer(std::vector{x, c})[1].shape, Shape{4});
  EXPECT_EQ(refusal(RmsNormOp(), {x, other}), "[rms_norm] gamma must be fp32 (10), got fp32 (4)");
  EXPECT_EQ(refusal(RmsNormOp({-1.0f}), {x, c}), "[rms_norm] epsilon is -1; it must be positive");
  EXPECT_EQ(refusal(RmsNormOp(), {{{4, 10}, DType::i32}, c}),
            "[rms_norm] takes an input (.., C) of fp32, bf16 or fp16, got int32 (4, 10)");
  EXPECT_EQ(refusal(RmsNormBackwardOp(), {x, x, c, c}),
            "[rms_norm_backward] rstd must be fp32 (4), got fp32 (10)");
  EXPECT_EQ(refusal(RmsNormBackwardOp(), {other, x, c, other}),
            "[rms_norm_backward] gradient fp32 (4) does not fit bf16 (4, 10)");
}

}  // namespace
}  // namespace spire::testing
