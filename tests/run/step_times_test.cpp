// Where a run's time goes: the parts of each step, and their means.
#include "engine/observe/step_times.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>
#include <spire/train.h>

namespace spire {
namespace {

struct Keeper : Observer {
  void on_step(const StepReport& step) override { steps.push_back(step); }
  std::vector<StepReport> steps;
};

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
    Keeper keeper;
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
