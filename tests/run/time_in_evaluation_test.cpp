// Runs that are stopped while they evaluate.
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/audit/audit_fixture.h"

namespace spire {
namespace {

using Clock = std::chrono::steady_clock;

// A second of its time is kept for the end of the process.
TEST(TimeInEvaluation, StopsThereAndAResumedRunRepeatsTheEvaluation) {
  MadeRuns runs;
  Words words = {"data.name=synthetic",       "data.synthetic.shape=[8, 8, 1]",
                 "data.synthetic.samples=60", "data.synthetic.test_samples=60",
                 "data.synthetic.classes=4",  "data.path=auto",
                 "data.csv.target=last",      "data.csv.task=auto",
                 "eval.every_epochs=1",       "checkpoint.every_epochs=1"};
  std::string straight = runs.train("straight", words).summary.parameter_hash;
  RunOptions options;
  constexpr std::chrono::milliseconds before{700};  // for the steps before the evaluation
  Clock::time_point over = Clock::now() + before;
  options.started = over - std::chrono::seconds(99);
  bool in_time = false;
  options.on_phase = [&](const PhaseRow& row) {
    if (row.phase != Phase::eval) return;
    in_time = in_time || Clock::now() < over;
    while (Clock::now() < over) {
    }
  };
  Reports reports;
  RunResult stopped = runs.train("run", words + Words{"max_time=100"}, reports, options);
  EXPECT_EQ(stopped.exit_code, 75);
  EXPECT_EQ(stopped.summary.stopped_by, "max_time");
  if (in_time) {  // a machine that is busy may need longer until there
    EXPECT_EQ(stopped.summary.steps, 10);
    EXPECT_THAT(reports.evaluated_steps(), testing::IsEmpty());
  }
  Reports resumed;
  options = {};
  options.resume = "auto";
  EXPECT_EQ(runs.train("run", words, resumed, options).summary.parameter_hash, straight);
  EXPECT_THAT(resumed.evaluated_steps(), testing::ElementsAre(10, 20, 24));
}

// Nobody repeats such an evaluation: it is whole.
TEST(TimeInEvaluation, AStopWithItsLastBatchLosesNoImages) {
  AuditedRuns all;
  Words words = {"model.name=autoencoder", "model.dropout=0", "data.normalize=unit",
                 "eval.samples=3", "eval.every_steps=3"};
  std::atomic<bool> stop = false;
  std::atomic<int> seen = 0;
  RunOptions options;
  options.stop = &stop;
  // Once at the beginning of the evaluation, and once at its only batch.
  options.on_phase = [&](const PhaseRow& row) {
    if (row.phase == Phase::eval && ++seen == 2) stop = true;
  };
  Reports reports;
  RunResult stopped = all.runs.train("run", all.words(words), reports, options);
  EXPECT_EQ(stopped.exit_code, 75);
  EXPECT_THAT(reports.evaluated_steps(), testing::ElementsAre(3));  // of one batch
  EXPECT_TRUE(std::filesystem::exists(all.runs / "run" / "samples" / "step_00000003.png"));
}

}  // namespace
}  // namespace spire
