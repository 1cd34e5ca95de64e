// A sample that makes a step bad, and what the guard does about it.
#include "engine/run/bad_steps.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "engine/base/thread.h"
#include "engine/run/run_data.h"
#include "tests/base/message_of.h"
#include "tests/process/ranks.h"
#include "tests/run/made_run.h"

namespace spire {
namespace {

using testing::HasSubstr;

const Words spikes = {"guard.loss_zscore=20", "guard.window=3", "seed=3"};

// Returns the numbers of the bad steps.
std::vector<int64_t> bad_steps(const Reports& reports) {
  std::vector<int64_t> steps;
  for (const StepReport& step : reports.steps)
    if (step.bad) steps.push_back(step.step);
  return steps;
}

TEST(BadSteps, ASkippedStepChangesNoWeight) {
  MadeRuns runs;
  Reports reports;
  RunResult run = runs.train("run", spikes + Words{"guard.on_bad_step=skip"}, reports);
  EXPECT_EQ(run.exit_code, 0);
  ASSERT_FALSE(bad_steps(reports).empty());
  for (size_t i = 1; i < reports.steps.size(); ++i) {
    const StepReport& step = reports.steps[i];
    EXPECT_EQ(step.bad, step.parameter_hash == reports.steps[i - 1].parameter_hash) << step.step;
  }
  EXPECT_EQ(reports.steps.back().bad_steps, std::ssize(bad_steps(reports)));
  EXPECT_THAT(reports.warnings.at(0),
              HasSubstr(fmt::format("step {} is left out: the loss", bad_steps(reports)[0])));
}

class Guarded : public testing::TestWithParam<std::string> {
 protected:
  Words words(const Words& more = {}) const {
    return spikes + Words{"guard.on_bad_step=" + GetParam(), "checkpoint.every_steps=2"} + more;
  }
};

TEST_P(Guarded, AnyNumberOfDevicesEndsWithTheSameBits) {
  MadeRuns runs;
  Reports first;
  std::string hash = runs.train("one", words(), first).summary.parameter_hash;
  ASSERT_FALSE(bad_steps(first).empty());
  for (std::string devices : {"2xcpu", "3xcpu"}) {
    Reports reports;
    RunResult run = runs.train("more", words({"devices=" + devices}), reports);
    EXPECT_EQ(run.summary.parameter_hash, hash) << devices;
    EXPECT_EQ(bad_steps(reports), bad_steps(first)) << devices;
  }
}

// Stopped after each number of steps, and resumed: also right after a bad step, and with
// checkpoints that a run without a stop does not have.
TEST_P(Guarded, AResumedRunDoesTheSame) {
  MadeRuns runs;
  std::string hash = runs.train("straight", words()).summary.parameter_hash;
  for (int64_t at = 1; at < 24; ++at) {
    runs.train("parts", words({fmt::format("steps={}", at)}));
    RunResult run = runs.resume("parts", words());
    EXPECT_EQ(run.summary.parameter_hash, hash) << "stopped after step " << at;
  }
}

// Each stop saves a checkpoint, and retention keeps one.
TEST_P(Guarded, ManyStopsLeaveTheCheckpointToWhichItGoesBack) {
  MadeRuns runs;
  Words sparse = {"checkpoint.every_steps=6", "checkpoint.keep_last=1"};
  std::string hash = runs.train("straight", words(sparse)).summary.parameter_hash;
  runs.train("parts", words(sparse + Words{"steps=1"}));
  for (int64_t at = 2; at < 24; ++at)
    runs.resume("parts", words(sparse + Words{fmt::format("steps={}", at)}));
  EXPECT_EQ(runs.resume("parts", words(sparse)).summary.parameter_hash, hash);
}

TEST_P(Guarded, AdamCountsOnlyTheStepsThatItTook) {
  MadeRuns runs;
  Words adam = {"optimizer.name=adam"};
  std::string hash = runs.train("straight", words(adam)).summary.parameter_hash;
  runs.train("parts", words(adam + Words{"steps=13"}));
  EXPECT_EQ(runs.resume("parts", words(adam)).summary.parameter_hash, hash);
}

INSTANTIATE_TEST_SUITE_P(All, Guarded, testing::Values("skip", "rollback"),
                         [](const auto& test) { return test.param; });

TEST(BadSteps, ARollbackRestoresTheWeightsOfTheLastRegularCheckpoint) {
  MadeRuns runs;
  Reports reports;
  runs.train("run", spikes + Words{"guard.on_bad_step=rollback", "checkpoint.every_steps=2"},
             reports);
  int64_t bad = bad_steps(reports).at(0), back = (bad - 1) / 2 * 2;
  auto step = [&](int64_t number) { return reports.steps.at(static_cast<size_t>(number) - 1); };
  EXPECT_EQ(step(bad).parameter_hash, step(back).parameter_hash);
  EXPECT_EQ(step(bad).rollbacks, 1);
  // The numbers of steps go on, so curves over them never turn back.
  for (size_t i = 0; i < reports.steps.size(); ++i)
    EXPECT_EQ(reports.steps[i].step, static_cast<int64_t>(i) + 1);
  EXPECT_EQ(step(bad).bad_steps, bad - back);
  EXPECT_THAT(reports.warnings.at(0),
              HasSubstr(fmt::format("goes back to the weights of step {}", back)));
}

TEST(BadSteps, ARollbackWithoutItsCheckpointSaysSo) {
  MadeRuns runs;
  Words words = spikes + Words{"guard.on_bad_step=rollback", "checkpoint.every_steps=2"};
  Reports reports;
  runs.train("whole", words, reports);
  int64_t bad = bad_steps(reports).at(0), back = (bad - 1) / 2 * 2;
  ASSERT_GT(back, 0);
  runs.train("run", words + Words{fmt::format("steps={}", back + 1)});
  runs.train("run", words + Words{fmt::format("steps={}", bad - 1)});
  std::filesystem::remove(runs / "run" / "checkpoints" / fmt::format("step_{:08}.h5", back));
  std::string text = message_of(Category::checkpoint, [&] { runs.resume("run", words); });
  EXPECT_THAT(text, HasSubstr(fmt::format("rollback goes back to step {}, and ", back)));
}

TEST(BadSteps, LimitsEndTheRun) {
  MadeRuns runs;
  std::string text = message_of(Category::diverged, [&] {
    runs.train("run", spikes + Words{"guard.on_bad_step=rollback", "checkpoint.every_steps=2",
                                     "guard.max_rollbacks=0"});
  });
  EXPECT_THAT(text, HasSubstr("the run diverged (after 0 rollbacks): the loss"));
  EXPECT_THAT(text, HasSubstr("the last checkpoint is of step "));
  // Every later step is bad, too: its gradients are not finite.
  text = message_of(Category::diverged, [&] {
    runs.train("run", {"guard.on_bad_step=skip", "guard.max_skips=3", "optimizer.lr=1e30"});
  });
  EXPECT_THAT(text, HasSubstr("the run diverged (4 bad steps in a row)"));
}

// After a huge step weights or activations overflow. Where a judge sees it before the update, the
// weights are those before it; so with clipping, which needs all sums.
TEST(BadSteps, TheReportNamesTheFirstBadTensor) {
  MadeRuns runs;
  for (const char* word : {"guard.loss_zscore=1e9", "optimizer.clip_norm=1e30"}) {
    std::string text = message_of(Category::diverged, [&] {
      runs.train("run", {"optimizer.lr=1e30", word});
    });
    EXPECT_THAT(text, testing::ContainsRegex("step [0-9]+: the run diverged: the loss is "));
    EXPECT_THAT(text, HasSubstr("first bad tensor: "));
  }
}

TEST(BadSteps, ADryRunSaysWhichKeyNamesTheTensor) {
  MadeRuns runs;
  RunOptions options;
  options.dry_run = 5;
  Observer silent;
  std::string text = message_of(Category::diverged, [&] {
    spire::train(parse_config({}, runs.words("dry", {"optimizer.lr=1e30"})).config, options,
                 silent);
  });
  EXPECT_THAT(text, HasSubstr("guard.loss_zscore: 1e9 names the first bad tensor"));
}

// As with faulty memory: of two ranks one has a weight that is not finite. Both end alike.
TEST(BadSteps, AWeightThatIsBadOnOneRankAloneIsNamedWithItsRank) {
  MadeRuns runs;
  auto worlds = threads_world(2, {.cores = allowed_cores(), .on_exit_timeout = {}});
  std::vector<std::string> texts(2);
  run_ranks(2, [&](int rank) {
    RunOptions options;
    options.world = worlds[static_cast<size_t>(rank)].get();
    RunConfig config = parse_config({}, runs.words("run", {"guard.loss_zscore=1e9"})).config;
    Observer silent;
    RunSetup setup(config, options, silent);
    TowerTrainer trainer(setup.trainer_options(), setup.placement, options.world->group.get());
    RunClock clock(setup.total_steps(), setup.steps_per_epoch(), setup.metric());
    RunContext run{setup, options, *options.world, silent, trainer, clock, setup.total_steps()};
    RunOutput output(nullptr, setup, options, silent);
    RunCheckpoints checkpoints(run, output);
    BadSteps bad(run, checkpoints);
    auto data = train_loader(setup.config, setup.data, setup.placement, 1);
    trainer.team().lead([&] {
      data->start(0, 0, 1);
      const Batch& batch = data->next();
      if (rank == 1)
        trainer.replica(setup.placement.devices_of(1).begin).values()[0] =
            std::numeric_limits<float>::quiet_NaN();
      StepOutcome result{.step = 1, .loss = NAN, .grad_norm = NAN, .rejected = true};
      texts[static_cast<size_t>(rank)] =
          message_of(Category::diverged, [&] { bad.take(result, batch, *data); });
      data->stop();
    });
  });
  EXPECT_THAT(texts[0], HasSubstr(" of rank 1, whose element [0"));
  EXPECT_THAT(texts[0], HasSubstr("first bad tensor: the weights "));
  EXPECT_EQ(texts[1], texts[0]);
}

}  // namespace
}  // namespace spire
