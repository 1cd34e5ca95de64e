// Loss and metric of an epoch so far: each sample counts once, whatever its batch's size.
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/train.h>

#include "tests/run/program/recorder.h"

namespace spire {
namespace {

// 300 samples: an epoch has 9 steps of 32 and one of 12.
class EpochMeans : public testing::TestWithParam<const char*> {
 protected:
  RunResult run(const std::string& name, Recorder& keeper, std::optional<std::string> resume = {}) {
    Words words = test_mlp + Words{"steps=24", std::string("data.last_batch=") + GetParam()};
    return train_here(folder_, name, words, keeper, std::move(resume));
  }

  // Of the steps (first, last]; `seen` samples before them.
  static void expect_means(const std::vector<StepReport>& steps, int64_t first, int64_t per_epoch,
                           int64_t seen) {
    double loss = 0, right = 0, samples = 0;
    for (const StepReport& step : steps) {
      if ((step.step - 1) % per_epoch == 0) loss = right = samples = 0;
      auto batch = static_cast<double>(step.samples_seen - seen);
      seen = step.samples_seen;
      loss += step.loss * batch;
      right += step.metric.value * batch;
      samples += batch;
      EXPECT_NEAR(step.epoch_loss, loss / samples, 1e-12 * step.epoch_loss) << step.step;
      EXPECT_NEAR(step.epoch_metric.value, right / samples, 1e-12) << step.step;
    }
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(steps.front().step, first + 1);
  }

  RunFolder folder_;
};

TEST_P(EpochMeans, CountEachSampleOnce) {
  Recorder keeper;
  RunResult result = run("run", keeper);
  int64_t per_epoch = std::string(GetParam()) == "drop" ? 9 : 10;
  expect_means(keeper.steps, 0, per_epoch, 0);
  EXPECT_EQ(result.summary.train_loss, keeper.steps.back().epoch_loss);
}

TEST_P(EpochMeans, BeginAnewWhereARunGoesOnInTheMiddleOfAnEpoch) {
  Recorder stopped(13), resumed;
  ASSERT_EQ(run("run", stopped).exit_code, static_cast<int>(Category::interrupted));
  RunResult result = run("run", resumed, "auto");
  int64_t per_epoch = std::string(GetParam()) == "drop" ? 9 : 10;
  expect_means(resumed.steps, 13, per_epoch, stopped.steps.back().samples_seen);
  EXPECT_EQ(result.summary.train_loss, resumed.steps.back().epoch_loss);
}

INSTANTIATE_TEST_SUITE_P(Run, EpochMeans, testing::Values("weighted", "drop"));

}  // namespace
}  // namespace spire
