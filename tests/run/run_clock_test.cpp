// The clock of a run: its limit, its rate, and where the time of its steps goes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/observe/records.h"
#include "engine/run/run_context.h"
#include "tests/run/recorder.h"

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

RunConfig config(int64_t devices) {
  return parse_config({{"test",
                        "model: {name: mlp, hidden: [16]}\n"
                        "data: {name: synthetic, synthetic: {shape: [8, 8, 1], "
                        "samples: 96, test_samples: 8, classes: 4}}\n"
                        "batch_size: 8\n"
                        "tower_threads: 1\n"
                        "output: /nowhere\n"}},
                      {fmt::format("devices=cpu:{}", devices), fmt::format("towers={}", devices)})
      .config;
}

TEST(RunTimes, PartsOfAStepAreTheStepAndTheirMeansLeaveOutTheFirst) {
  RunOptions options;
  options.dry_run = 9;
  for (int64_t devices : {1, 2}) {
    Recorder keeper;
    RunSummary summary = train(config(devices), options, keeper).summary;
    ASSERT_EQ(keeper.steps.size(), 9u);
    StepTimes sum;
    for (const StepReport& step : keeper.steps) {
      double seconds = step.step_ms / 1e3;
      EXPECT_DOUBLE_EQ(total_of(step.times), seconds);
      for (const StepPart& part : step_parts) EXPECT_GE(step.times.*part.seconds, 0) << part.name;
      EXPECT_EQ(step.times.copy, 0);  // a CPU reads the batch in place
      EXPECT_EQ(step.times.reduce > 0, devices > 1);
      EXPECT_DOUBLE_EQ(step.times.data, step.data_wait * seconds);
      EXPECT_DOUBLE_EQ(step.times.reduce, step.comm_wait * seconds);
      if (step.step > 1) sum += step.times;
    }
    for (const StepPart& part : step_parts)
      EXPECT_DOUBLE_EQ(summary.times.*part.seconds, sum.*part.seconds / 8) << part.name;
  }
}

}  // namespace
}  // namespace spire
