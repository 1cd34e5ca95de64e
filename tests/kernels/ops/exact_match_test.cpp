#include <cmath>

#include <tests/kernels/op_test.h>

#include "kernels/ops/labels/labels.h"

namespace spire::testing {
namespace {

class ExactMatchTest : public OpTest {};

TEST_P(ExactMatchTest, CountsSamplesAllOfWhoseLabelsAreRight) {
  std::vector<Input> in = {activation({{4, 2}, {2, -1, 0.5, 0.5, -3, -1, 0, 4}}),
                           statistic({{4, 2}, {1, 0, 1, 0, 0, 0, 0, 1}})};
  EXPECT_EQ(run_op(ExactMatchOp(), in, GetParam())[0].data, (std::vector<double>{1, 0, 1, 1}));
}

// As a float64 loop finds them, for more samples than a block has threads.
TEST_P(ExactMatchTest, ManySamples) {
  HostTensor outputs = uniform({700, 3}, 1), labels = zeros({700, 3});
  for (size_t i = 0; i < labels.data.size(); ++i) labels[i] = i % 5 < 2 ? 1 : 0;
  std::vector<double> want(700, 1.0);
  for (size_t i = 0; i < labels.data.size(); ++i)
    if ((outputs[i] > 0) != (labels[i] == 1)) want[i / 3] = 0;
  std::vector<Input> in = {activation(outputs), statistic(labels)};
  EXPECT_EQ(run_op(ExactMatchOp(), in, GetParam())[0].data, want);
}

TEST_P(ExactMatchTest, ANaNStays) {
  std::vector<Input> in = {activation({{1, 2}, {1, std::nan("")}}), statistic({{1, 2}, {1, 0}})};
  EXPECT_TRUE(std::isnan(run_op(ExactMatchOp(), in, GetParam())[0][0]));
}

SPIRE_TEST_EVERYWHERE(ExactMatchTest);

TEST(ExactMatchOp, RefusesLabelsOfAnotherShape) {
  EXPECT_THROW(ExactMatchOp().infer(std::vector<TensorSpec>{f32({4, 2}), f32({4, 3})}), Error);
  EXPECT_THROW(ExactMatchOp().infer(std::vector<TensorSpec>{f32({4}), f32({4})}), Error);
}

}  // namespace
}  // namespace spire::testing
