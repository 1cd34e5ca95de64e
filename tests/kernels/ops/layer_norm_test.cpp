#include "kernels/ops/layer_norm/layer_norm.h"

#include <cmath>

#include <tests/kernels/matrix_views.h>

namespace spire::testing {
namespace {

constexpr double layer_norm_epsilon = 1e-5;

// y = gamma (x - mean) rstd + beta, mean and rstd of each row.
std::vector<HostTensor> layer_norm_reference(std::span<const HostTensor> in) {
  auto x = matrix_of(in[0]).array();
  auto gamma = matrix_of(in[1]).row(0).array(), beta = matrix_of(in[2]).row(0).array();
  std::vector<HostTensor> out = {in[0], zeros({x.rows()}), zeros({x.rows()})};
  auto y = matrix_of(out[0]).array();
  auto mean = array_of(out[1]), rstd = array_of(out[2]);
  mean = x.rowwise().mean();
  y = x.colwise() - mean;
  rstd = (y.square().rowwise().mean() + layer_norm_epsilon).sqrt().inverse();
  y = ((y.colwise() * rstd).rowwise() * gamma).rowwise() + beta;
  return out;
}

OpCase layer_norm_case(Shape shape) {
  OpCase test;
  test.op = std::make_shared<LayerNormOp>();
  int64_t width = shape.back();
  test.inputs = {activation(uniform(shape, 301, -1, 3)), parameter(uniform({width}, 302, 0.5, 1.5)),
                 parameter(uniform({width}, 303))};
  test.reference = layer_norm_reference;
  // Values of a row are relative to the largest terms: |gamma xhat| + |beta| < 6, |x| < 3.
  test.magnitude = [](std::span<const HostTensor> in) {
    auto bound = layer_norm_reference(in);
    for (double& b : bound[0].data) b = std::abs(b) + 3;
    for (double& b : bound[1].data) b = 3;
    for (double& b : bound[2].data) b *= 3;
    return bound;
  };
  test.floor = 0.5;
  return test;
}

class LayerNormTest : public OpTest {};

// Returns the gradients of the op for one dy, computed on `threads`.
std::vector<HostTensor> layer_norm_gradients(int threads, Environment environment) {
  environment.threads = threads;
  HostTensor x = uniform({300, 35}, 305), stats = uniform({300}, 306, 0.5, 1);
  std::vector<Input> inputs = {activation(uniform({300, 35}, 304)), activation(x),
                               parameter(uniform({35}, 307)), statistic(stats), statistic(stats)};
  return run_op(LayerNormBackwardOp(), inputs, environment);
}

TEST_P(LayerNormTest, ValuesAndGradients) {
  for (Shape shape : {Shape{3, 5}, Shape{2, 7, 64}, Shape{9, 77}, Shape{2, 3, 2, 16}, Shape{150}}) {
    check_op(layer_norm_case(shape), GetParam());
  }
}

// More rows than a chunk has, so that sums of chunks are added up.
TEST_P(LayerNormTest, SumsOverManyRows) {
  OpCase test = layer_norm_case({205, 6});
  test.gradient_samples = 20;
  test.gradient_factor = 32;
  check_op(test, GetParam());
}

TEST_P(LayerNormTest, BitsDoNotDependOnTheThreadCount) {
  auto one = layer_norm_gradients(1, GetParam()), three = layer_norm_gradients(3, GetParam());
  for (size_t k = 0; k < one.size(); ++k) EXPECT_EQ(one[k].data, three[k].data) << "output " << k;
}

// A large common offset costs the variance nothing, unlike sum x^2 - mean^2.
TEST_P(LayerNormTest, KeepsTheVarianceOfShiftedRows) {
  HostTensor x{{1, 4}, {4096, 4128, 4160, 4192}};  // exact in bf16
  HostTensor ones{{4}, {1, 1, 1, 1}};
  std::vector<Input> inputs = {activation(x), parameter(ones), parameter(zeros({4}))};
  auto out = run_op(LayerNormOp(), inputs, GetParam());
  EXPECT_EQ(out[1][0], 4144);
  EXPECT_NEAR(out[2][0], 1 / std::sqrt(1280.0), 1e-7);
}

// The variance is 0, epsilon keeps rstd finite, and x - mean is exactly 0.
TEST_P(LayerNormTest, ConstantRowsGiveBeta) {
  HostTensor x{{2, 3}, {5, 5, 5, -2, -2, -2}}, beta{{3}, {1, 2, -3}};
  std::vector<Input> inputs = {activation(x), parameter(uniform({3}, 308)), parameter(beta)};
  auto y = run_op(LayerNormOp(), inputs, GetParam())[0];
  EXPECT_EQ(y.data, (std::vector<double>{1, 2, -3, 1, 2, -3}));
}

SPIRE_TEST_EVERYWHERE(LayerNormTest);

TEST(LayerNormOp, RefusesInputsThatDoNotFit) {
  TensorSpec x{{4, 10}, DType::bf16}, c{{10}, DType::f32}, other{{4}, DType::f32};
  EXPECT_EQ(LayerNormOp().infer(std::vector{x, c, c})[1].shape, Shape{4});
  EXPECT_THROW(LayerNormOp().infer(std::vector{x, c}), Error);
  EXPECT_THROW(LayerNormOp().infer(std::vector{x, other, c}), Error);
  EXPECT_THROW(LayerNormOp({-1.0f}).infer(std::vector{x, c, c}), Error);
  EXPECT_THROW(LayerNormOp().infer(std::vector{{{4, 10}, DType::i32}, c, c}), Error);
}

}  // namespace
}  // namespace spire::testing
