#include "engine/run/recent_rate.h"

#include <gtest/gtest.h>

namespace spire {
namespace {

TEST(RecentRate, IsThatOfEqualSteps) {
  RecentRate rate;
  EXPECT_EQ(rate.value(), 0);
  for (int step = 0; step < 50; ++step) rate.add(128, 0.25);
  EXPECT_NEAR(rate.value(), 512, 512e-12);
}

// On a GPU the host hears of the first steps in one go, and of the others as they end.
TEST(RecentRate, ShortStepCountsForItsTimeOnly) {
  RecentRate rate;
  rate.add(100, 1e-6);
  rate.add(100, 1e-3);
  EXPECT_NEAR(rate.value(), 200 / 1.001e-3, 0.001 * 200 / 1.001e-3);
}

TEST(RecentRate, ForgetsWhatIsSecondsBack) {
  RecentRate rate;
  for (int step = 0; step < 100; ++step) rate.add(1000, 0.1);
  for (int step = 0; step < 100; ++step) rate.add(10, 0.1);  // ten seconds: e^-10 is 4.5e-5
  EXPECT_GT(rate.value(), 100);
  EXPECT_LT(rate.value(), 100 * (1 + 100 * 4.6e-5));
}

}  // namespace
}  // namespace spire
