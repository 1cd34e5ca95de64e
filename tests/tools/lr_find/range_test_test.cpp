// Tests what a range test says of losses whose course is known.
#include "tools/lr_find/range_test.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace spire {
namespace {

// The loss at each of 200 rates from 1e-6 to 10.
RangeTest test_of(double (*loss)(double lr)) {
  RangeTest test;
  for (int64_t i = 0; i < 200; ++i) {
    double lr = 1e-6 * std::pow(1e7, static_cast<double>(i) / 199);
    test.points.push_back({.step = i + 1, .lr = lr, .loss = loss(lr)});
  }
  judge(test);
  return test;
}

// s_k is the weighted mean of all losses so far: exactly the loss while that is constant.
TEST(RangeTest, SmoothsWithoutABiasAtTheBeginning) {
  RangeTest test = test_of([](double) { return 2.5; });
  for (const RangePoint& point : test.points) EXPECT_NEAR(point.smoothed, 2.5, 1e-12);
  RangeTest rising = test_of([](double lr) { return std::log10(lr); });
  double second = (0.95 * rising.points[0].loss + rising.points[1].loss) / 1.95;
  EXPECT_NEAR(rising.points[1].smoothed, second, 1e-12);
}

// A valley at 0.1 with its steepest fall at 0.01.
TEST(RangeTest, SuggestsATenthOfTheRateOfTheLowestLoss) {
  RangeTest test = test_of([](double lr) {
    double x = std::log10(lr);
    return x < -1 ? 2 - std::tanh(2 * (x + 2)) : 1 + 2 * (x + 1);
  });
  ASSERT_TRUE(test.lowest && test.steepest);
  EXPECT_GT(*test.lowest, 0.05);
  EXPECT_LT(*test.lowest, 0.5);
  EXPECT_GT(*test.steepest, 0.005);
  EXPECT_LT(*test.steepest, *test.lowest);
  EXPECT_DOUBLE_EQ(*test.suggested(), *test.lowest / 10);
  test.scaling = 4;  // lr.scaling
  EXPECT_DOUBLE_EQ(*test.suggested(), *test.lowest / 40);
}

// Where the loss has fallen and sinks on a little, the tenth is too high: runs tell.
TEST(RangeTest, SuggestsTheRateOfTheBestTrial) {
  RangeTest test;
  test.lowest = 2;
  EXPECT_DOUBLE_EQ(*test.suggested(), 0.2);
  test.trials = {{0.2, std::numeric_limits<double>::infinity()}, {0.06, 1.5}, {0.02, 1.25}};
  EXPECT_DOUBLE_EQ(*test.suggested(), 0.02);
  test.scaling = 4;
  EXPECT_DOUBLE_EQ(*test.suggested(), 0.005);
}

// The first steps change nothing: what their batches happen to have is no fall.
TEST(RangeTest, IgnoresTheFirstSteps) {
  RangeTest test = test_of([](double lr) { return lr < 2e-6 ? 1 : 1.5 + lr; });
  EXPECT_FALSE(test.lowest || test.suggested());
}

TEST(RangeTest, SuggestsNothingWhereTheLossOnlyRises) {
  RangeTest test = test_of([](double lr) { return 1 + lr; });
  EXPECT_FALSE(test.lowest || test.steepest || test.suggested());
  RangeTest none;
  judge(none);
  EXPECT_FALSE(none.suggested());
}

TEST(RangeTest, IsWrittenAsCsv) {
  RangeTest test;
  test.points = {{1, 0.5, 2, 2}, {2, 1, 3, 2.5}};
  EXPECT_EQ(to_csv(test), "step,lr,loss,smoothed\n1,0.5,2,2\n2,1,3,2.5\n");
}

}  // namespace
}  // namespace spire
