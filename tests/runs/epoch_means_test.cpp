// Loss and metric of an epoch so far: each sample counts once, whatever its batch's size.
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/train.h>

#include "engine/config/words.h"
#include "tests/runs/run_folder.h"

namespace spire {
namespace {

class Keeper : public Observer {
 public:
  explicit Keeper(int64_t stop_after) : stop_after_(stop_after) {}
  void on_step(const StepReport& step) override {
    steps.push_back(step);
    stop = step.step == stop_after_;
  }

  std::atomic<bool> stop = false;
  std::vector<StepReport> steps;

 private:
  int64_t stop_after_;
};

// 300 samples: an epoch has 9 steps of 32 and one of 12.
class EpochMeans : public testing::TestWithParam<const char*> {
 protected:
  RunResult run(const std::string& name, Keeper& keeper, std::optional<std::string> resume = {}) {
    RunConfig config;
    config.data.name = "idx";
    config.data.path = folder_ / "data";
    config.data.last_batch = *find_word<DataConfig::LastBatch>(GetParam());
    config.output = folder_ / name;
    config.model = {.name = "mlp", .hidden = {16}};
    config.optimizer.lr = 0.02;
    config.batch_size = 8;
    config.towers = 4;
    config.tower_threads = 1;
    config.devices = {"cpu:0"};
    config.steps = 24;
    RunOptions options;
    options.resume = std::move(resume);
    options.stop = &keeper.stop;
    return train(config, options, keeper);
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
  Keeper keeper(-1);
  RunResult result = run("run", keeper);
  int64_t per_epoch = std::string(GetParam()) == "drop" ? 9 : 10;
  expect_means(keeper.steps, 0, per_epoch, 0);
  EXPECT_EQ(result.summary.train_loss, keeper.steps.back().epoch_loss);
}

TEST_P(EpochMeans, BeginAnewWhereARunGoesOnInTheMiddleOfAnEpoch) {
  Keeper stopped(13), resumed(-1);
  ASSERT_EQ(run("run", stopped).exit_code, static_cast<int>(Category::interrupted));
  RunResult result = run("run", resumed, "auto");
  int64_t per_epoch = std::string(GetParam()) == "drop" ? 9 : 10;
  expect_means(resumed.steps, 13, per_epoch, stopped.steps.back().samples_seen);
  EXPECT_EQ(result.summary.train_loss, resumed.steps.back().epoch_loss);
}

INSTANTIATE_TEST_SUITE_P(Run, EpochMeans, testing::Values("weighted", "drop"));

}  // namespace
}  // namespace spire
