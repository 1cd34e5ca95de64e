#include "engine/observe/published_state.h"

#include <gtest/gtest.h>

#include "tests/observe/reports.h"

namespace spire {
namespace {

TEST(LatestState, HasWhatWasReportedLast) {
  ManualClock clock;
  LatestState latest(clock.function());
  EXPECT_EQ(latest.state().start, nullptr);
  std::vector<DeviceReport> devices = gpu_reports();
  report_run(latest, devices);
  clock.advance(10);
  StepReport step = sample_step(1201);
  step.loss = 0.5;
  step.parameter_hash = "0123456789abcdef";
  devices[0].busy = 0.25;
  step.devices = devices;
  latest.on_step(step);
  devices.clear();
  PublishedState state = latest.state();
  EXPECT_EQ(state.step->loss, 0.5);
  EXPECT_EQ(state.step->step, 1201);
  EXPECT_EQ(state.step_at - state.checkpoint_at, std::chrono::seconds(10));
  ASSERT_EQ(state.devices.size(), 2u);
  EXPECT_EQ(state.devices[0].busy, 0.25);
  EXPECT_TRUE(state.step->devices.empty());
  EXPECT_EQ(state.eval->step, 1200);
  EXPECT_EQ(state.checkpoints, 1);
  EXPECT_EQ(state.warnings, 1);
}

TEST(LatestState, TheBestEvaluationStays) {
  LatestState latest;
  latest.on_eval(sample_eval(10, true));
  latest.on_eval(sample_eval(20, false));
  EXPECT_EQ(latest.state().eval->step, 20);
  EXPECT_EQ(latest.state().best->step, 10);
}

TEST(JobName, IsTheRunsFolder) {
  StartInfo start;
  start.model = "cnn";
  for (auto [output, name] : {std::pair("runs/cifar", "cifar"), std::pair("/runs/a/", "a"),
                              std::pair("runs/b/.", "b"), std::pair(".", "cnn")}) {
    start.output = output;
    EXPECT_EQ(job_name(start), name) << output;
  }
}

TEST(ValidUtf8, ReplacesOnlyWhatIsNotUtf8) {
  for (const char* good : {"", "plain \"quoted\" \\ \n\t", "\xc3\xa9 \xf0\x9f\x99\x82"})
    EXPECT_EQ(valid_utf8(good), good);
  std::string replacement = "\xef\xbf\xbd";
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a" + replacement + "b");
  EXPECT_EQ(valid_utf8("cut \xe2\x82"), "cut " + replacement);
}

}  // namespace
}  // namespace spire
