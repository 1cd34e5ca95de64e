#include <gtest/gtest.h>

#include "engine/run/run_context.h"

namespace spire {
namespace {

using Clock = TimeLimit::Clock;

Clock::time_point after(double seconds) {
  return Clock::time_point() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

TEST(TimeLimit, ZeroIsNoLimit) {
  TimeLimit limit(0, after(0), 0);
  limit.took_step(1);
  EXPECT_FALSE(limit.reached(after(1e9)));
}

TEST(TimeLimit, EveryAttemptDoesAStep) {
  TimeLimit limit(100, after(0), 0);
  EXPECT_FALSE(limit.reached(after(1e6)));
  limit.took_step(1);
  EXPECT_TRUE(limit.reached(after(1e6)));
}

TEST(TimeLimit, LeavesRoomForAStepAndTheLastCheckpoint) {
  TimeLimit limit(100, after(0), 500'000'000);  // 10 s, at 50 MB/s
  EXPECT_EQ(limit.reserve(), 11);
  limit.took_step(4);
  EXPECT_EQ(limit.reserve(), 19);
  EXPECT_FALSE(limit.reached(after(80.5)));
  TimeLimit copy = limit;
  EXPECT_TRUE(copy.reached(after(81.5)));
  limit.took_checkpoint(2);
  EXPECT_EQ(limit.reserve(), 11);
  EXPECT_FALSE(limit.reached(after(88.5)));
  EXPECT_TRUE(limit.reached(after(89.5)));
}

TEST(TimeLimit, AQuickCheckpointTakesNoStopBack) {
  TimeLimit limit(100, after(0), 500'000'000);
  limit.took_step(4);
  EXPECT_TRUE(limit.reached(after(81.5)));
  limit.took_checkpoint(0.1);
  EXPECT_TRUE(limit.reached(after(81.5)));
}

TEST(TimeLimit, ALongStepIsForgottenSlowly) {
  TimeLimit limit(100, after(0), 0);
  limit.took_step(10);
  limit.took_step(1);
  EXPECT_DOUBLE_EQ(limit.reserve(), 1 + 2 * 9);
  for (int i = 0; i < 100; ++i) limit.took_step(1);
  EXPECT_DOUBLE_EQ(limit.reserve(), 1 + 2 * 1);
}

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
