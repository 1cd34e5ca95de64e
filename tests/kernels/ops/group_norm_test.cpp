#include "kernels/ops/group_norm/group_norm.h"

#include <cmath>

#include <tests/kernels/matrix_views.h>

namespace spire::testing {
namespace {

constexpr double group_norm_epsilon = 1e-5;

// Calls visit(first, element, channel) for each element of x; statistics are of the sample and
// group with that index.
template <typename Visit>
void over_elements(const HostTensor& x, int64_t groups, const Visit& visit) {
  int64_t channels = x.shape.back(), sample = x.size() / x.shape[0];
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t channel = i % channels;
    visit(i / sample * groups + channel / (channels / groups), i, channel);
  }
}

std::vector<HostTensor> group_norm_reference(Tensors in, int64_t groups) {
  const HostTensor &x = in[0], &gamma = in[1], &beta = in[2];
  Shape statistics{x.shape[0], groups};
  std::vector<HostTensor> out = {x, zeros(statistics), zeros(statistics)};
  HostTensor &y = out[0], &mean = out[1], &rstd = out[2];
  auto size = static_cast<double>(x.size() / statistics.elements());
  over_elements(x, groups, [&](int64_t at, int64_t i, int64_t) { mean[at] += x[i] / size; });
  over_elements(x, groups, [&](int64_t at, int64_t i, int64_t) {
    rstd[at] += (x[i] - mean[at]) * (x[i] - mean[at]) / size;
  });
  for (double& value : rstd.data) value = 1 / std::sqrt(value + group_norm_epsilon);
  over_elements(x, groups, [&](int64_t at, int64_t i, int64_t c) {
    y[i] = gamma[c] * (x[i] - mean[at]) * rstd[at] + beta[c];
  });
  return out;
}

OpCase group_norm_case(Shape shape, int64_t groups) {
  OpCase test;
  test.op = std::make_shared<GroupNormOp>(GroupNormAttributes{.groups = groups});
  int64_t channels = shape.back();
  test.inputs = {activation(uniform(shape, 401, -1, 3)),
                 parameter(uniform({channels}, 402, 0.5, 1.5)),
                 parameter(uniform({channels}, 403))};
  test.reference = [groups](Tensors in) { return group_norm_reference(in, groups); };
  // Values are relative to the largest terms: |gamma xhat| + |beta| < 6, |x| < 3.
  test.magnitude = [groups](Tensors in) {
    auto bound = group_norm_reference(in, groups);
    for (double& b : bound[0].data) b = std::abs(b) + 3;
    for (double& b : bound[1].data) b = 3;
    for (double& b : bound[2].data) b *= 3;
    return bound;
  };
  test.floor = 0.5;
  test.any_threads = true;
  return test;
}

SPIRE_OP_TEST(GroupNormTest);

// One group, some, and one a channel, which is instance normalization; images, sequences, vectors.
TEST_P(GroupNormTest, ValuesAndGradients) {
  check_op(group_norm_case({2, 3, 4, 6}, 1), GetParam());
  check_op(group_norm_case({2, 3, 4, 6}, 3), GetParam());
  check_op(group_norm_case({3, 5, 4, 20}, 20), GetParam());
  check_op(group_norm_case({2, 9, 36}, 4), GetParam());
  check_op(group_norm_case({4, 32}, 2), GetParam());
}

// More positions than a block of sums has.
TEST_P(GroupNormTest, SumsOverManyPositions) {
  OpCase test = group_norm_case({1, 13, 11, 4}, 2);
  test.gradient_samples = 20;
  test.gradient_factor = 32;
  check_op(test, GetParam());
}

// A group of equal values: the variance is 0, epsilon keeps rstd finite, and x - mean is exactly 0.
TEST_P(GroupNormTest, ConstantGroupsGiveBeta) {
  HostTensor x{{1, 2, 4}, {5, 5, -2, -2, 5, 5, -2, -2}}, beta{{4}, {1, 2, -3, 4}};
  std::vector<Input> inputs = {activation(x), parameter(uniform({4}, 408)), parameter(beta)};
  auto y = run_op(GroupNormOp({.groups = 2}), inputs, GetParam())[0];
  EXPECT_EQ(y.data, (std::vector<double>{1, 2, -3, 4, 1, 2, -3, 4}));
}

TEST(GroupNormOp, RefusesInputsThatDoNotFit) {
  TensorSpec x{{4, 3, 10}, DType::bf16}, c = f32({10});
  EXPECT_EQ(GroupNormOp({.groups = 5}).infer(std::vector{x, c, c})[1].shape, (Shape{4, 5}));
  EXPECT_EQ(refusal(GroupNormOp({.groups = 4}), {x, c, c}),
            "[group_norm] 4 groups do not divide 10 channels; use a divisor");
  EXPECT_THROW(GroupNormOp().infer(std::vector{x, c}), Error);
  EXPECT_THROW(GroupNormOp().infer(std::vector{x, f32({4}), c}), Error);
  EXPECT_THROW(GroupNormOp({.epsilon = -1.0f}).infer(std::vector{x, c, c}), Error);
  EXPECT_THROW(GroupNormOp().infer(std::vector{f32({10}), c, c}), Error);
}

}  // namespace
}  // namespace spire::testing
