#include "tools/compare/compare_runs.h"

#include <bit>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spire {
namespace {

using testing::ElementsAre;

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
  EXPECT_FALSE(first_difference(a, b));
  float& changed = b.weights[0].values[4];
  changed = std::bit_cast<float>(std::bit_cast<uint32_t>(changed) ^ 1u);
  auto found = first_difference(a, b);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->tensor, "weights fc.weight");
  EXPECT_EQ(found->element, "[1, 1]");
  EXPECT_EQ(found->a, 5);
  EXPECT_EQ(found->b, changed);
}

TEST(CompareRuns, StatesOfRunsWithOtherFrozenWeightsArePairedByName) {
  TrainingState a, b;
  a.weights = {{"low", {2}, {1, 2}}, {"high", {2}, {3, 4}}};
  a.optimizer = {{"m", {{"low", {2}, {0, 0}}, {"high", {2}, {0.5f, 0}}}}};
  b.weights = {a.weights[1], a.weights[0]};
  b.optimizer = {{"m", {a.optimizer[0].second[1]}}};
  EXPECT_FALSE(first_difference(a, b));
  EXPECT_FALSE(first_difference(b, a));
  b.optimizer[0].second[0].values[1] = 2;
  auto found = first_difference(a, b);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->tensor, "m of high");
  EXPECT_EQ(found->element, "[1]");
  b.weights.pop_back();
  EXPECT_EQ(first_difference(a, b)->tensor, "weights low, which the other run does not have");
}

TEST(CompareRuns, ZerosOfTwoSignsDiffer) {  // as their bits do
  TrainingState a = state_with({0, 0}), b = state_with({0, -0.0f});
  EXPECT_TRUE(first_difference(a, b));
}

}  // namespace
}  // namespace spire
