// Runs in this process, whose observer keeps what they report and raises the flag that a signal
// sets after a chosen step: early stops, evaluations by steps, stops, and means of an epoch.
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/train.h>

#include "tests/run/program/run_folder.h"
#include "tests/run/recorder.h"

namespace spire {
namespace {

using testing::ElementsAre;

class EarlyStopRun : public testing::Test {
 protected:
  // An epoch has 10 steps. Without a learning rate nothing ever improves.
  const Words patient = test_mlp + Words{"optimizer.lr=0", "steps=40", "eval.every_epochs=0",
                                         "eval.every_steps=4", "early_stop.patience=3"};
  RunResult run(const std::string& name, Recorder& recorder, const Words& more = {},
                std::optional<std::string> resume = {}) const {
    return train_here(folder_.run(name, patient + more), recorder, std::move(resume));
  }

  RunFolder folder_;
};

TEST_F(EarlyStopRun, EndsRegularlyAndSaysWhy) {
  Recorder listener;
  RunResult result = run("early", listener);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.summary.steps, 16);
  EXPECT_EQ(result.summary.stopped_by, "early_stop");
  EXPECT_THAT(listener.evaluated_steps(), ElementsAre(4, 8, 12, 16));
  ASSERT_EQ(listener.notes.size(), 1u);
  EXPECT_THAT(listener.notes[0],
              testing::MatchesRegex("stopped early at step 16: 3 evaluations in a row did not "
                                    "improve accuracy; the best was at step 4: .*%"));
  EXPECT_EQ(folder_.checkpoints("early").back(), 16);
  EXPECT_TRUE(std::filesystem::exists(folder_.checkpoint("early", 4)));  // the best
}

// Wherever it is stopped by a signal, on other devices or not, it ends at the same evaluation.
TEST_F(EarlyStopRun, AResumedRunDecidesAlike) {
  for (int64_t stop : {3, 4, 10, 12, 15}) {
    std::string name = "parts" + std::to_string(stop);
    Recorder first(stop), second;
    EXPECT_EQ(run(name, first).exit_code, static_cast<int>(Category::interrupted)) << stop;
    RunResult rest = run(name, second, {"devices=2xcpu"}, "auto");
    EXPECT_EQ(rest.summary.steps, 16) << stop;
    EXPECT_EQ(rest.summary.stopped_by, "early_stop");
    Recorder again;  // it has stopped for good
    EXPECT_EQ(run(name, again, {}, "auto").summary.steps, 16);
    EXPECT_TRUE(again.evaluations.empty());
  }
}

TEST_F(EarlyStopRun, MorePatienceGoesOn) {
  Recorder first, second;
  run("more", first);
  EXPECT_EQ(run("more", second, {"early_stop.patience=5"}, "auto").summary.steps, 24);
  EXPECT_THAT(second.evaluated_steps(), ElementsAre(20, 24));
}

TEST_F(EarlyStopRun, TheLastStepIsARegularEnd) {
  Recorder listener;
  RunResult result = run("end", listener, {"steps=16"});
  EXPECT_EQ(result.summary.stopped_by, "");
  EXPECT_TRUE(listener.notes.empty());
}

TEST_F(EarlyStopRun, EvaluationsByStepsAndEpochsAreOneAtATime) {
  Recorder listener;
  run("both", listener, {"early_stop.patience=0", "eval.every_epochs=1", "steps=21"});
  EXPECT_THAT(listener.evaluated_steps(), ElementsAre(4, 8, 10, 12, 16, 20, 21));
}

// Averaged weights: training is what it was, and the average goes on after a stop.
TEST_F(EarlyStopRun, AnAverageIsEvaluatedAndResumed) {
  const Words course = {"early_stop.patience=0", "optimizer.lr=0.05", "steps=25"};
  const Words average = course + Words{"ema.decay=0.9"};
  Recorder plain, straight, first(13), second;
  RunSummary without = run("plain", plain, course).summary;
  RunSummary expected = run("straight", straight, average).summary;
  run("parts", first, average);
  RunSummary parts = run("parts", second, average, "auto").summary;
  EXPECT_EQ(without.ema_hash, "");
  EXPECT_EQ(expected.parameter_hash, without.parameter_hash);
  EXPECT_EQ(expected.ema_hash.size(), 16u);
  EXPECT_NE(expected.ema_hash, expected.parameter_hash);
  EXPECT_NE(expected.val.loss, without.val.loss);
  EXPECT_EQ(parts.ema_hash, expected.ema_hash);
  EXPECT_EQ(parts.val.loss, expected.val.loss);
  RunOptions options;
  options.resume = folder_.checkpoint("parts", 25);
  RunConfig config = parse_config({}, folder_.run("parts", patient + average)).config;
  EXPECT_EQ(evaluate(config, options, plain).loss, expected.val.loss);
}

// One step with a rate that throws the weights far away: the step's loss is as ever, the test's is
// not.
TEST_F(EarlyStopRun, WarnsOnceOfALossThatExplodes) {
  Recorder calm, wild;
  run("calm", calm);
  EXPECT_THAT(calm.warnings, testing::IsEmpty());
  run("wild", wild, {"optimizer.lr=1e4", "steps=1", "early_stop.patience=0"});
  ASSERT_EQ(wild.warnings.size(), 1u);
  EXPECT_THAT(wild.warnings[0],
              testing::HasSubstr("in the first training step; lower optimizer.lr"));
}

class StopAfter : public testing::TestWithParam<int64_t> {
 protected:
  RunResult run(const std::string& name, Recorder& watcher,
                std::optional<std::string> resume = {}) {
    Words words = test_mlp + Words{"model.dropout=0.1", "steps=21"};
    return train_here(folder_.run(name, words), watcher, std::move(resume));
  }

  // Step, loss, metric and whether it was the best so far.
  static std::vector<std::tuple<int64_t, double, double, bool>> found(const Recorder& recorder) {
    std::vector<std::tuple<int64_t, double, double, bool>> all;
    for (const EvalReport& eval : recorder.evaluations)
      all.emplace_back(eval.step, eval.loss, eval.metric.value, eval.best);
    return all;
  }

  RunFolder folder_;
};

TEST_P(StopAfter, NeitherForgetsNorRepeatsAnEvaluation) {
  Recorder straight, stopped(GetParam()), resumed;
  RunSummary expected = run("straight", straight).summary;
  RunResult part = run("parts", stopped);
  EXPECT_EQ(part.exit_code, static_cast<int>(Category::interrupted));
  EXPECT_EQ(part.summary.steps, GetParam());
  RunResult rest = run("parts", resumed, "auto");
  EXPECT_EQ(rest.exit_code, 0);

  auto parts = found(stopped), rests = found(resumed);
  parts.insert(parts.end(), rests.begin(), rests.end());
  EXPECT_EQ(parts, found(straight));
  EXPECT_EQ(rest.summary.parameter_hash, expected.parameter_hash);
  EXPECT_EQ(rest.summary.val.loss, expected.val.loss);
  EXPECT_EQ(rest.summary.val.best, expected.val.best);
  EXPECT_EQ(folder_.checkpoints("parts").back(), 21);
  Recorder again;  // a finished run: the same summary, nothing done
  EXPECT_EQ(run("parts", again, "auto").summary.val.loss, expected.val.loss);
  EXPECT_TRUE(again.evaluations.empty());
}

// An epoch has 10 steps; at 10, 20 and 21 the flag comes just before an evaluation.
INSTANTIATE_TEST_SUITE_P(Run, StopAfter, testing::Values(1, 9, 10, 11, 20, 21));

// 300 samples: an epoch has 9 steps of 32 and one of 12.
class EpochMeans : public testing::TestWithParam<const char*> {
 protected:
  RunResult run(const std::string& name, Recorder& keeper, std::optional<std::string> resume = {}) {
    Words words = test_mlp + Words{"steps=24", std::string("data.last_batch=") + GetParam()};
    return train_here(folder_.run(name, words), keeper, std::move(resume));
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
