#include "kernels/ops/labels/labels.h"

#include <cmath>

#include <tests/kernels/op_test.h>

namespace spire::testing {
namespace {

SPIRE_OP_TEST(OneHotTest);

TEST_P(OneHotTest, HasAOneAtTheLabel) {
  OneHotOp op({3, GetParam().dtype});
  auto rows = run_op(op, std::vector{labels({{4}, {2, 0, 1, 2}})}, GetParam())[0];
  EXPECT_EQ(rows.shape, (Shape{4, 3}));
  EXPECT_EQ(rows.data, (std::vector<double>{0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}));
}

// Rows of whole registers, and rows that a thread or a warp goes through in several turns.
TEST_P(OneHotTest, ManyClasses) {
  for (int64_t classes : {8, 40, 1001}) {
    OneHotOp op({classes, GetParam().dtype});
    auto last = static_cast<double>(classes - 1);
    auto rows = run_op(op, std::vector{labels({{3}, {0, last, 5}})}, GetParam())[0];
    HostTensor want = zeros({3, classes});
    want[0] = want[2 * classes - 1] = want[2 * classes + 5] = 1;
    EXPECT_EQ(rows.data, want.data) << classes;
  }
}

// More classes than one launch on a GPU has weights for.
TEST_P(OneHotTest, HasTheWeightOfTheClassAtTheLabel) {
  std::vector<float> weights(1001, 1.0f);
  weights[0] = 0.5f, weights[511] = 2, weights[512] = 0.25f, weights[1000] = 3;
  OneHotOp op({1001, GetParam().dtype, weights});
  auto rows = run_op(op, std::vector{labels({{5}, {0, 511, 512, 1000, 7}})}, GetParam())[0];
  HostTensor want = zeros({5, 1001});
  want[0] = 0.5, want[1001 + 511] = 2, want[2 * 1001 + 512] = 0.25, want[3 * 1001 + 1000] = 3;
  want[4 * 1001 + 7] = 1;
  EXPECT_EQ(rows.data, want.data);
}

// A label that is no class must not be taken for one; the loss shows the NaN.
TEST_P(OneHotTest, LabelOutOfRangeMakesItsRowNaN) {
  OneHotOp op({2, GetParam().dtype});
  auto rows = run_op(op, std::vector{labels({{3}, {2, 1, -1}})}, GetParam())[0];
  EXPECT_TRUE(std::isnan(rows[0]) && std::isnan(rows[1]) && std::isnan(rows[4]));
  EXPECT_EQ(rows[2], 0);
  EXPECT_EQ(rows[3], 1);
}

TEST(OneHotOp, RefusesInputsThatAreNoLabels) {
  EXPECT_THROW(OneHotOp({3}).infer(std::vector<TensorSpec>{{{4}, DType::f32}}), Error);
  EXPECT_THROW(OneHotOp({3}).infer(std::vector<TensorSpec>{{{4, 1}, DType::i32}}), Error);
  EXPECT_THROW(OneHotOp({0}).infer(std::vector<TensorSpec>{{{4}, DType::i32}}), Error);
  EXPECT_THROW(OneHotOp({3, DType::f32, {1, 2}}).infer(std::vector<TensorSpec>{{{4}, DType::i32}}),
               Error);
}

SPIRE_OP_TEST(ExactMatchTest);

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

TEST(ExactMatchOp, RefusesLabelsOfAnotherShape) {
  EXPECT_THROW(ExactMatchOp().infer(std::vector<TensorSpec>{f32({4, 2}), f32({4, 3})}), Error);
  EXPECT_THROW(ExactMatchOp().infer(std::vector<TensorSpec>{f32({4}), f32({4})}), Error);
}

}  // namespace
}  // namespace spire::testing
