// Runs that end before their last step because nothing improves, and evaluations by steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/train.h>

#include "tests/run/program/recorder.h"

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
    return train_here(folder_, name, patient + more, recorder, std::move(resume));
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

}  // namespace
}  // namespace spire
