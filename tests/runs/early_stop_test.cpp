// Runs that end before their last step because nothing improves, and evaluations by steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/train.h>

#include "tests/runs/run_folder.h"

namespace spire {
namespace {

using testing::ElementsAre;

class Listener : public Observer {
 public:
  explicit Listener(int64_t stop_after = -1) : stop_after_(stop_after) {}
  void on_step(const StepReport& step) override {
    if (step.step == stop_after_) stop = true;
  }
  void on_eval(const EvalReport& eval) override { evaluated.push_back(eval.step); }
  void on_note(std::string_view text) override { notes.emplace_back(text); }
  void on_warning(std::string_view text) override { warnings.emplace_back(text); }

  std::atomic<bool> stop = false;
  std::vector<int64_t> evaluated;
  std::vector<std::string> notes, warnings;

 private:
  int64_t stop_after_;
};

class EarlyStopRun : public testing::Test {
 protected:
  // An epoch has 10 steps. Without a learning rate nothing ever improves.
  EarlyStopRun() {
    config.data.name = "idx";
    config.data.path = folder_ / "data";
    config.model = {.name = "mlp", .hidden = {16}};
    config.optimizer.lr = 0;
    config.batch_size = 8;
    config.towers = 4;
    config.tower_threads = 1;
    config.devices = {"cpu:0"};
    config.steps = 40;
    config.eval = {.every_epochs = 0, .every_steps = 4};
    config.early_stop.patience = 3;
  }
  RunResult run(const std::string& name, Listener& listener,
                std::optional<std::string> resume = {}) {
    config.output = folder_ / name;
    RunOptions options;
    options.resume = std::move(resume);
    options.stop = &listener.stop;
    return train(config, options, listener);
  }

  RunConfig config;
  RunFolder folder_;
};

TEST_F(EarlyStopRun, EndsRegularlyAndSaysWhy) {
  Listener listener;
  RunResult result = run("early", listener);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.summary.steps, 16);
  EXPECT_EQ(result.summary.stopped_by, "early_stop");
  EXPECT_THAT(listener.evaluated, ElementsAre(4, 8, 12, 16));
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
    Listener first(stop), second;
    config.devices = {"cpu:0"};
    EXPECT_EQ(run(name, first).exit_code, static_cast<int>(Category::interrupted)) << stop;
    config.devices = {"cpu:0", "cpu:1"};
    RunResult rest = run(name, second, "auto");
    EXPECT_EQ(rest.summary.steps, 16) << stop;
    EXPECT_EQ(rest.summary.stopped_by, "early_stop");
    Listener again;  // it has stopped for good
    EXPECT_EQ(run(name, again, "auto").summary.steps, 16);
    EXPECT_TRUE(again.evaluated.empty());
  }
}

TEST_F(EarlyStopRun, MorePatienceGoesOn) {
  Listener first, second;
  run("more", first);
  config.early_stop.patience = 5;
  EXPECT_EQ(run("more", second, "auto").summary.steps, 24);
  EXPECT_THAT(second.evaluated, ElementsAre(20, 24));
}

TEST_F(EarlyStopRun, TheLastStepIsARegularEnd) {
  Listener listener;
  config.steps = 16;
  RunResult result = run("end", listener);
  EXPECT_EQ(result.summary.stopped_by, "");
  EXPECT_TRUE(listener.notes.empty());
}

TEST_F(EarlyStopRun, EvaluationsByStepsAndEpochsAreOneAtATime) {
  config.early_stop.patience = 0;
  config.eval = {.every_epochs = 1, .every_steps = 4};
  config.steps = 21;
  Listener listener;
  run("both", listener);
  EXPECT_THAT(listener.evaluated, ElementsAre(4, 8, 10, 12, 16, 20, 21));
}

// Averaged weights: training is what it was, and the average goes on after a stop.
TEST_F(EarlyStopRun, AnAverageIsEvaluatedAndResumed) {
  config.early_stop.patience = 0;
  config.optimizer.lr = 0.05;
  config.steps = 25;
  Listener plain, straight, first(13), second;
  RunSummary without = run("plain", plain).summary;
  config.ema = {.decay = 0.9};
  RunSummary expected = run("straight", straight).summary;
  run("parts", first);
  RunSummary parts = run("parts", second, "auto").summary;
  EXPECT_EQ(without.ema_hash, "");
  EXPECT_EQ(expected.parameter_hash, without.parameter_hash);
  EXPECT_EQ(expected.ema_hash.size(), 16u);
  EXPECT_NE(expected.ema_hash, expected.parameter_hash);
  EXPECT_NE(expected.val.loss, without.val.loss);
  EXPECT_EQ(parts.ema_hash, expected.ema_hash);
  EXPECT_EQ(parts.val.loss, expected.val.loss);
  RunOptions options;
  options.resume = folder_.checkpoint("parts", 25);
  EXPECT_EQ(evaluate(config, options, plain).loss, expected.val.loss);
}

// One step with a rate that throws the weights far away: the step's loss is as ever, the test's is
// not.
TEST_F(EarlyStopRun, WarnsOnceOfALossThatExplodes) {
  Listener calm, wild;
  run("calm", calm);
  EXPECT_THAT(calm.warnings, testing::IsEmpty());
  config.optimizer.lr = 1e4;
  config.steps = 1;
  config.early_stop.patience = 0;
  run("wild", wild);
  ASSERT_EQ(wild.warnings.size(), 1u);
  EXPECT_THAT(wild.warnings[0],
              testing::HasSubstr("in the first training step; lower optimizer.lr"));
}

}  // namespace
}  // namespace spire
