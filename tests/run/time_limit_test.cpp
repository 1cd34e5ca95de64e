#include "engine/run/time_limit.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace spire
