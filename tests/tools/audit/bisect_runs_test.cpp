// Two runs that differ in one thing, and where the replay finds it.
#include "tools/compare/bisect_runs.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint_file.h"
#include "tests/run/made_run.h"
#include "tests/tools/small_data.h"

namespace spire {
namespace {

using testing::HasSubstr;

class BisectRuns : public testing::Test {
 protected:
  BisectRuns() {
    std::filesystem::create_directories(runs / "images");
    write_images(runs / "images/train", 60);
    write_images(runs / "images/t10k", 12);
    images = {"data.name=idx",
              "data.path=" + (runs / "images").string(),
              "data.csv.target=last",
              "data.csv.task=auto",
              "model.name=cnn",
              "model.channels=[4]",
              "model.hidden=[8]",
              "batch_size=4",
              "towers=2",
              "optimizer.lr=0.05",
              "steps=6"};
  }
  void train(const std::string& name, const Words& more = {}) { runs.train(name, images + more); }
  RunRecords records(const std::string& name) const { return read_run_records(runs / name); }

  MadeRuns runs;
  Words images;
};

TEST_F(BisectRuns, EqualRunsAreEqualOnAnyDevices) {
  train("a", {"checkpoint.every_steps=2"});
  train("b", {"devices=2xcpu", "strategy=sharded"});
  RunRecords a = records("a"), b = records("b");
  EXPECT_EQ(config_differences(a.config, b.config), std::vector<std::string>());
  RecordComparison comparison = compare_records(a, b);
  EXPECT_FALSE(comparison.first);
  EXPECT_EQ(comparison.hashes, 6);
  Bisection bisection = bisect(a, b);
  EXPECT_FALSE(bisection.difference);
  EXPECT_EQ(bisection.deviation, "");
  EXPECT_EQ(bisection.to, 6);
}

TEST_F(BisectRuns, FindsAnotherAugmentationInTheInputs) {
  train("a");
  train("b", {"data.augment.flip=true"});
  Bisection bisection = bisect(records("a"), records("b"));
  ASSERT_TRUE(bisection.difference);
  EXPECT_EQ(bisection.from, 0);
  EXPECT_EQ(bisection.difference->step, 1);
  EXPECT_EQ(bisection.difference->tensor, "input images");
  EXPECT_THAT(bisection.difference->note, HasSubstr("sample "));
  EXPECT_NE(bisection.difference->a, bisection.difference->b);
}

TEST_F(BisectRuns, FindsAnotherConfigFromTheLastCommonCheckpoint) {
  Words saved = {"checkpoint.every_steps=2"};
  train("a", saved);
  train("b", saved + Words{"steps=4"});
  runs.resume("b", images + saved + Words{"optimizer.momentum=0.5"});
  Bisection bisection = bisect(records("a"), records("b"));
  ASSERT_TRUE(bisection.difference);
  EXPECT_EQ(bisection.from, 4);
  EXPECT_EQ(bisection.difference->step, 5);
  EXPECT_EQ(bisection.difference->tower, -1);  // forward and backward are equal
  EXPECT_THAT(bisection.difference->tensor, HasSubstr("weights "));
}

// metrics.jsonl has no step before the fifth, and no towers: the chains name them.
TEST_F(BisectRuns, FindsTheStepThatOnlyChainsHave) {
  Words rare = {"log.every_steps=5", "log.hash_every_steps=0"};
  train("a", rare);
  train("b", rare + Words{"data.augment.flip=true"});
  RunRecords a = records("a"), b = records("b");
  RecordComparison comparison = compare_records(a, b);
  ASSERT_TRUE(comparison.first && comparison.first->chained);
  EXPECT_EQ(comparison.first->step, 1);
  EXPECT_GE(comparison.first->chained->tower, 0);
  EXPECT_EQ(bisect(a, b).to, 1);

  b = a;
  b.log->records.at(2).towers.at(1) += 1;
  Bisection bisection = bisect(a, b);
  EXPECT_FALSE(bisection.difference);
  EXPECT_EQ(bisection.to, 2);
  EXPECT_THAT(bisection.deviation, HasSubstr("run B: its chain has of step 2, tower 1: loss"));
}

// The run goes on from a file in which one bit was flipped.
TEST_F(BisectRuns, FindsAFlippedBitOfAWeight) {
  Words saved = {"checkpoint.every_steps=2", "checkpoint.keep_last=10"};
  train("a", saved);
  train("b", saved + Words{"steps=4"});
  std::filesystem::path path = runs / "b" / "checkpoints" / "step_00000004.h5";
  TrainingState state = read_checkpoint(path);
  float& weight = state.weights.at(1).values.at(2);
  float before = weight;
  weight = std::bit_cast<float>(std::bit_cast<uint32_t>(weight) ^ 1u);
  float after = weight;
  write_checkpoint(path, state);
  runs.resume("b", images + saved);

  RunRecords a = records("a"), b = records("b");
  RecordComparison comparison = compare_records(a, b);
  ASSERT_TRUE(comparison.first);
  EXPECT_EQ(comparison.first->step, 5);
  Bisection bisection = bisect(a, b);
  std::string text = to_text(bisection);
  EXPECT_THAT(text, HasSubstr("step 4"));
  EXPECT_THAT(text, HasSubstr("weights " + state.weights[1].name));
  EXPECT_THAT(text, HasSubstr(fmt::format("{}", before)));
  EXPECT_THAT(text, HasSubstr(fmt::format("{}", after)));
}

// Some sums over a tower's samples depend on its number of threads.
TEST_F(BisectRuns, FindsAnotherNumberOfThreadsInAnOp) {
  Words wide = {"model.channels=[16,32]", "model.hidden=[64]", "batch_size=16"};
  train("a", wide);
  train("b", wide + Words{"tower_threads=2"});
  RunRecords a = records("a"), b = records("b");
  EXPECT_EQ(config_differences(a.config, b.config),
            std::vector<std::string>{"tower_threads: 1 and 2"});
  Bisection bisection = bisect(a, b);
  ASSERT_TRUE(bisection.difference) << "the same bits with 1 and 2 threads";
  EXPECT_GE(bisection.difference->tower, 0);
  EXPECT_THAT(bisection.difference->tensor, HasSubstr(" of "));
  EXPECT_NE(bisection.difference->a, bisection.difference->b);
}

// The table's outlier gives a step whose loss is not finite. A replay leaves it out, too.
TEST(BisectSkips, AReplayGoesOnBehindASkippedStep) {
  MadeRuns runs;
  Words words = {"guard.on_bad_step=skip", "seed=3", "steps=12", "optimizer.lr=1e-3",
                 "data.csv.scale_target=false"};
  Reports reports;
  runs.train("a", words, reports);
  auto bad = std::ranges::find_if(reports.steps, &StepReport::bad);
  ASSERT_NE(bad, reports.steps.end());
  ASSERT_FALSE(std::isfinite(bad->loss) && std::isfinite(bad->grad_norm));
  ASSERT_LT(bad->step, 9);
  runs.train("same", words + Words{"devices=3xcpu"});
  runs.train("other", words + Words{"schedule.name=multistep", "schedule.milestone_steps=[9]"});
  RunRecords a = read_run_records(runs / "a");
  Bisection same = bisect(a, read_run_records(runs / "same"));
  EXPECT_FALSE(same.difference);
  EXPECT_EQ(same.deviation, "");
  EXPECT_EQ(same.to, 12);
  Bisection other = bisect(a, read_run_records(runs / "other"));
  EXPECT_EQ(other.deviation, "");
  ASSERT_TRUE(other.difference);
  EXPECT_EQ(other.difference->step, 10) << "the first with another learning rate";
}

}  // namespace
}  // namespace spire
