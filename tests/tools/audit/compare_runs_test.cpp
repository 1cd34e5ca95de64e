// Where two runs differ: by their records, and by a replay of both.
#include "tools/compare/compare_runs.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint_file.h"
#include "tests/tools/audit/audit_fixture.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RunRecords records(std::map<int64_t, StepRecord> steps) {
  RunRecords run;
  run.steps = std::move(steps);
  return run;
}

TEST(CompareRuns, TheFirstStepWithOtherBits) {
  double next = std::bit_cast<double>(std::bit_cast<uint64_t>(0.5) + 1);
  RunRecords a = records({{1, {1.0, 2.0, "aa"}}, {2, {0.5, 2.0, ""}}, {4, {0.25, 1.0, "bb"}}});
  RunRecords b = records({{1, {1.0, 2.0, "aa"}}, {2, {next, 2.0, ""}}, {5, {0.25, 1.0, "bb"}}});
  RecordComparison comparison = compare_records(a, b);
  EXPECT_EQ(comparison.steps, 2);
  EXPECT_EQ(comparison.hashes, 1);
  ASSERT_TRUE(comparison.first);
  EXPECT_EQ(comparison.first->step, 2);
  EXPECT_FALSE(compare_records(a, a).first);
}

// Of which metrics.jsonl has every fourth step, and of no step the towers.
TEST(CompareRuns, TheFirstStepAndTowerThatChainsShow) {
  RunRecords a = records({{4, {1.0, 2.0, "aa"}}, {8, {0.5, 2.0, ""}}});
  a.log.emplace();
  for (int64_t step = 1; step <= 8; ++step)
    a.log->records[step] = {.step = step, .loss = 1, .grad_norm = 2, .towers = {0.25, 0.75}};
  RunRecords b = a;
  EXPECT_FALSE(compare_records(a, b).first);
  b.log->records[3].towers = {0.5, 0.5};
  b.steps[8].loss = 3;
  auto found = compare_records(a, b).first;
  ASSERT_TRUE(found && found->chained);
  EXPECT_EQ(found->step, 3);
  EXPECT_EQ(found->chained->tower, 0);
  EXPECT_THAT(to_text(a, b, {}, compare_records(a, b)),
              testing::HasSubstr("first recorded difference: step 3, tower 0: loss, 0.25 and 0.5\n"
                                 "  A  loss 1, gradient norm 2\n"));
  b.log->records[3].towers = {1};  // another split, which with precision: exact changes no bit
  EXPECT_EQ(compare_records(a, b).first->step, 8);
  b.log->records[5].weights = {7};
  EXPECT_EQ(compare_records(a, b).first->step, 8);  // A has no hashes of this step
  a.log->records[5].weights = {8};
  EXPECT_EQ(compare_records(a, b).first->step, 5);
}

TEST(CompareRuns, WhatOneRunDoesNotRecordIsNoDifference) {
  RunRecords a = records({{1, {1.0, 2.0, "aa"}}}), b = records({{1, {1.0, {}, ""}}});
  EXPECT_FALSE(compare_records(a, b).first);
  b.steps[1].parameter_hash = "ab";
  EXPECT_TRUE(compare_records(a, b).first);
}

TEST(CompareRuns, ConfigsDifferInKeysThatChangeBits) {
  RunConfig a, b;
  b.devices = {"2xcpu"};
  b.output = "elsewhere";
  b.log.every_steps = 1;
  EXPECT_THAT(config_differences(a, b), ElementsAre());
  b.seed = 8;
  b.data.augment.flip = true;
  b.tower_threads = 2;
  EXPECT_THAT(config_differences(a, b),
              testing::UnorderedElementsAre("seed: 7 and 8", "data.augment.flip: false and true",
                                            "tower_threads: null and 2"));
}

TEST(CompareRuns, OtherStartingWeightsAreNamed) {
  RunConfig a, b;
  a.init.skip = {"head.*"};  // without effect beside init.from: none
  EXPECT_THAT(config_differences(a, b), ElementsAre());
  a.init.from = "runs/low";
  EXPECT_THAT(
      config_differences(a, b),
      ElementsAre("init.from: runs/low and none, so the runs may start from other weights"));
  b.init.from = "runs/low";
  EXPECT_THAT(config_differences(a, b), ElementsAre("init.skip: \"head.*\" and [], so the runs may "
                                                    "start from other weights"));
}

TEST(CompareRuns, OtherDataIsNamedByTheRootsOfTheChains) {
  auto with_data = [](const std::string& digest) {
    RunRecords run = records({{1, {1.0, 2.0, "aa"}}});
    run.log.emplace();
    run.log->roots[0] = {.text = R"({"device":"cpu","config":{},"data":")" + digest + "\"}",
                         .weights = {},
                         .value = ""};
    return run;
  };
  RunRecords a = with_data("3f"), b = with_data("81");
  auto text = [&] { return to_text(a, b, {}, compare_records(a, b)); };
  EXPECT_THAT(text(), testing::HasSubstr("change bits\nthe data differ, by their digests 3f and "
                                         "81\n"));
  b = a;
  EXPECT_THAT(text(), testing::Not(testing::HasSubstr("the data differ")));
  b.log->roots[1] = with_data("81").log->roots[0];  // of a run that was resumed on other data
  EXPECT_THAT(text(), testing::HasSubstr("digests 3f and 81\n"));
}

// Where metrics.jsonl has no step of both, as of short runs.
TEST(CompareRuns, StepsOfChainsCountWhereNoOthersDo) {
  RunRecords a = records({{3, {1.0, 2.0, ""}}});
  a.log.emplace();
  for (int64_t step = 1; step <= 3; ++step) {
    a.log->records[step] = {.step = step, .loss = 1, .grad_norm = 2, .towers = {1}};
    a.log->values[step] = "aa";
  }
  RunRecords b = a;
  b.steps.clear();
  RecordComparison equal = compare_records(a, b);
  EXPECT_EQ(equal.steps, 3);
  EXPECT_EQ(equal.last, 3);
  EXPECT_FALSE(equal.first);
  EXPECT_EQ(equal.same_chain, true);
  b.log->records[1].lr = 0.5;
  RecordComparison other = compare_records(a, b);
  EXPECT_EQ(other.steps, 3);
  ASSERT_TRUE(other.first);
  EXPECT_EQ(other.first->step, 1);
}

TrainingState state_with(std::vector<float> weights) {
  TrainingState state;
  auto count = static_cast<int64_t>(weights.size());
  state.weights.push_back({"fc.weight", {2, count / 2}, std::move(weights)});
  return state;
}

TEST(CompareRuns, StatesDifferInOneBitOfOneElement) {
  TrainingState a = state_with({1, 2, 3, 4, 5, 6}), b = a;
  EXPECT_FALSE(first_difference(0, a, b));
  float& changed = b.weights[0].values[4];
  changed = with_flipped_bit(changed);
  auto found = first_difference(0, a, b);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->tensor, "weights fc.weight");
  EXPECT_EQ(found->element, "[1, 1]");
  EXPECT_EQ(found->a, "5");
  EXPECT_EQ(found->b, fmt::format("{}", changed));
}

TEST(CompareRuns, StatesOfRunsWithOtherFrozenWeightsArePairedByName) {
  TrainingState a, b;
  a.weights = {{"low", {2}, {1, 2}}, {"high", {2}, {3, 4}}};
  a.optimizer = {{"m", {{"low", {2}, {0, 0}}, {"high", {2}, {0.5f, 0}}}}};
  b.weights = {a.weights[1], a.weights[0]};
  b.optimizer = {{"m", {a.optimizer[0].second[1]}}};
  EXPECT_FALSE(first_difference(0, a, b));
  EXPECT_FALSE(first_difference(0, b, a));
  b.optimizer[0].second[0].values[1] = 2;
  auto found = first_difference(0, a, b);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->tensor, "m of high");
  EXPECT_EQ(found->element, "[1]");
  b.weights.pop_back();
  EXPECT_EQ(first_difference(0, a, b)->tensor, "weights low, which the other run does not have");
}

TEST(CompareRuns, ZerosOfTwoSignsDiffer) {  // as their bits do
  TrainingState a = state_with({0, 0}), b = state_with({0, -0.0f});
  EXPECT_TRUE(first_difference(0, a, b));
}

class BisectRuns : public testing::Test, public ImageRuns {
 protected:
  void train(const std::string& name, const Words& more = {}) { runs.train(name, images + more); }
  RunRecords records(const std::string& name) const { return read_run_records(runs / name); }

  Words images = words({"towers=2", "steps=6"});
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
  float before = weight, after = with_flipped_bit(before);
  weight = after;
  write_checkpoint(path, state);
  runs.resume("b", images + saved);

  RunRecords a = records("a"), b = records("b");
  RecordComparison comparison = compare_records(a, b);
  ASSERT_TRUE(comparison.first);
  EXPECT_EQ(comparison.first->step, 5);
  Bisection bisection = bisect(a, b);
  std::string text = to_text(bisection);
  expect_parts(text, {"step 4", "weights " + state.weights[1].name, fmt::format("{}", before),
                      fmt::format("{}", after)});
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
