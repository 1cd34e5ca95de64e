// A NaN of a sample's input is a NaN in all of the sample's outputs, on every device: an op that
// makes a number of it would make a confident answer of a dead sensor.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "kernels/ops/attention/attention.h"
#include "kernels/ops/batch_norm/batch_norm.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/conv2d/conv2d.h"
#include "kernels/ops/dense/dense.h"
#include "kernels/ops/elementwise/elementwise.h"
#include "kernels/ops/group_norm/group_norm.h"
#include "kernels/ops/pool2d/pool2d.h"
#include "kernels/ops/row_norm/row_norm.h"
#include "kernels/ops/softmax/softmax.h"
#include "tests/kernels/op_test.h"

namespace spire::testing {
namespace {

// Sample 1 of input 0 becomes NaN; output 0 then has NaN in that sample, and nowhere else.
void expect_nan_stays(const Op& op, std::vector<Input> inputs, const Environment& environment) {
  HostTensor& x = inputs[0].tensor;
  int64_t row = x.size() / x.shape[0];
  for (int64_t i = 0; i < row; ++i) x[row + i] = std::numeric_limits<double>::quiet_NaN();
  HostTensor y = run_op(op, inputs, environment)[0];
  int64_t made = y.size() / y.shape[0];
  for (int64_t i = 0; i < y.size(); ++i)
    ASSERT_EQ(std::isnan(y[i]), i / made == 1) << op.name() << " element " << i << ": " << y[i];
}

SPIRE_OP_TEST(KeepsNaNTest);

// By all implementations: tiles, oneDNN's and the matrix products of GPUs.
TEST_P(KeepsNaNTest, Dense) {
  for (bool relu : {false, true})
    for (int64_t features : {1, 7, 48, 256})
      for (int64_t outputs : {1, 10, 64, 300}) {
        SCOPED_TRACE(fmt::format("{} -> {}", features, outputs));
        std::vector<Input> inputs = {activation(uniform({20, features}, 1)),
                                     parameter(uniform({outputs, features}, 2)),
                                     parameter(uniform({outputs}, 3))};
        expect_nan_stays(DenseOp({.bias = true, .relu = relu}), inputs, GetParam());
        inputs.pop_back();
        expect_nan_stays(DenseOp({.relu = relu}), inputs, GetParam());
      }
}

TEST_P(KeepsNaNTest, Convolution) {
  for (bool relu : {false, true})
    for (int64_t groups : {1, 4})
      for (int64_t channels : {4, 16, 32})
        for (int64_t kernel : {1, 3}) {
          SCOPED_TRACE(fmt::format("{} channels, kernel {}, {} groups", channels, kernel, groups));
          Conv2dAttributes attributes = {
              .padding = {kernel / 2, kernel / 2}, .groups = groups, .bias = true, .relu = relu};
          std::vector<Input> inputs = {
              activation(uniform({3, 6, 6, channels}, 1)),
              parameter(uniform({32, channels / groups, kernel, kernel}, 2)),
              parameter(uniform({32}, 3))};
          expect_nan_stays(Conv2dOp(attributes), inputs, GetParam());
        }
}

TEST_P(KeepsNaNTest, Activations) {
  for (Activation kind :
       {Activation::relu, Activation::leaky_relu, Activation::gelu, Activation::gelu_tanh,
        Activation::silu, Activation::sigmoid, Activation::tanh, Activation::affine,
        Activation::exp, Activation::log, Activation::square, Activation::sqrt, Activation::abs})
    expect_nan_stays(ActivationOp({.kind = kind}), {activation(uniform({3, 70}, 1, 0.1, 1))},
                     GetParam());
}

TEST_P(KeepsNaNTest, SumsAndProducts) {
  std::vector<Input> two = {activation(uniform({3, 70}, 1)), activation(uniform({3, 70}, 2))};
  expect_nan_stays(AddOp(), two, GetParam());
  expect_nan_stays(AddOp(true), two, GetParam());
  expect_nan_stays(MulOp(), two, GetParam());
  expect_nan_stays(BiasOp(), {two[0], parameter(uniform({70}, 2))}, GetParam());
  expect_nan_stays(SwigluOp(), {two[0]}, GetParam());
}

TEST_P(KeepsNaNTest, Norms) {
  Input scale = parameter(uniform({16}, 2)), shift = parameter(uniform({16}, 3));
  Input mean = statistic(uniform({16}, 4)), variance = statistic(uniform({16}, 5, 0.5, 1));
  Input images = activation(uniform({3, 2, 2, 16}, 1));
  for (bool relu : {false, true})
    expect_nan_stays(BatchNormEvalOp({.relu = relu}), {images, scale, shift, mean, variance},
                     GetParam());
  expect_nan_stays(GroupNormOp({.groups = 4}), {images, scale, shift}, GetParam());
  expect_nan_stays(LayerNormOp(), {activation(uniform({3, 16}, 1)), scale, shift}, GetParam());
  expect_nan_stays(RmsNormOp(), {activation(uniform({3, 16}, 1)), scale}, GetParam());
}

TEST_P(KeepsNaNTest, PoolsSoftmaxAndAttention) {
  Input images = activation(uniform({3, 4, 4, 16}, 1));
  expect_nan_stays(AvgPool2dOp({.kernel = {2, 2}, .stride = {2, 2}}), {images}, GetParam());
  expect_nan_stays(MaxPool2dOp({.kernel = {2, 2}, .stride = {2, 2}}), {images}, GetParam());
  expect_nan_stays(SoftmaxOp(), {activation(uniform({3, 20}, 1))}, GetParam());
  for (bool causal : {false, true})
    expect_nan_stays(AttentionOp({.heads = 2, .causal = causal}),
                     {activation(uniform({3, 9, 3 * 16}, 1))}, GetParam());
}

}  // namespace
}  // namespace spire::testing
