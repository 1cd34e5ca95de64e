#include "kernels/cuda/engine_choice.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <tests/kernels/cuda/fake_engines.h>

#include "engine/base/fail.h"

namespace spire {
namespace {

using testing::FakeEngines;
using testing::one_choice;

TEST(EngineChoice, TakesTheFavouriteWithoutTuning) {
  FakeEngines engines({3, 1});
  EXPECT_TRUE(choose_engine(engines, "k", nullptr));
  EXPECT_EQ(engines.selected, "e0");
  EXPECT_EQ(engines.runs, 0);
  EXPECT_EQ(engines.proposed, 1u);
}

struct Choice {
  std::string name;
  Tuning::Options options;
  std::vector<float> times;
  std::string selected;
  bool measured = false, replaces = false;
};

TEST(EngineChoice, IsKeptForThisRunAndIfMeasuredForLaterOnes) {
  TuningChoices lost = one_choice("k", "e9");
  for (const Choice& c : std::vector<Choice>{
           {"the fastest", {.measures = true}, {3, -1, 1, 2}, "e2", true},
           {"the recorded one, not the cached",
            {.recorded = one_choice("k", "e2"), .cached = one_choice("k", "e1"), .measures = true},
            {1, 2, 3},
            "e2"},
           {"another", {.recorded = lost, .measures = true}, {2, 1}, "e1", true, true},
           {"another favourite", {.recorded = lost, .measures = false}, {2, 1}, "e0", false, true},
           {"the unmeasured favourite", {.measures = false}, {3, 1}, "e0"},
           {"one without rivals", {.measures = true}, {3}, "e0"}}) {
    SCOPED_TRACE(c.name);
    Tuning tuning(c.options);
    FakeEngines engines(c.times);
    EXPECT_TRUE(choose_engine(engines, "k", &tuning));
    EXPECT_EQ(engines.selected, c.selected);
    EXPECT_EQ(tuning.chosen(), one_choice("k", c.selected));
    EXPECT_EQ(tuning.measured(), c.measured ? tuning.chosen() : TuningChoices());
    EXPECT_EQ(tuning.replaced(), c.replaces ? tuning.chosen() : TuningChoices());
    EXPECT_EQ(engines.runs > 0, c.measured);
  }
}

TEST(EngineChoice, IsKeptForThisRunOnlyWithoutMemoryToMeasure) {
  Tuning tuning({.measures = true});
  FakeEngines engines({3, 1});
  engines.memory = false;
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_EQ(engines.selected, "e0");
  EXPECT_EQ(tuning.chosen(), one_choice("k", "e0"));
  EXPECT_TRUE(tuning.measured().empty());
}

TEST(EngineChoice, IsNotMeasuredWhereItMattersLittle) {
  Tuning tuning({.measures = true});
  FakeEngines little({3, 1}), much({3, 1});
  EXPECT_THROW(tuning.without_measuring([&] {
    EXPECT_TRUE(choose_engine(little, "of one evaluation", &tuning));
    fail(Category::out_of_memory, "the batch is too large");
  }),
               Error);
  EXPECT_TRUE(choose_engine(much, "of each step", &tuning));
  EXPECT_EQ(little.selected, "e0");
  EXPECT_EQ(tuning.unmeasured(), one_choice("of one evaluation", "e0"));
  EXPECT_EQ(tuning.measured(), one_choice("of each step", "e1"));
}

TEST(EngineChoice, MeasuresAnOperationOnce) {
  Tuning tuning({.measures = true});
  FakeEngines first({3, 1}), second({1, 3}), other({1, 3});
  EXPECT_TRUE(choose_engine(first, "k", &tuning));
  EXPECT_TRUE(choose_engine(second, "k", &tuning));  // of another lane
  EXPECT_TRUE(choose_engine(other, "another k", &tuning));
  EXPECT_EQ(second.selected, "e1");
  EXPECT_EQ(second.runs, 0);
  EXPECT_EQ(other.selected, "e0");
}

TEST(EngineChoice, RecordsOnlyTheCachedChoicesThatItUses) {
  TuningChoices cached = one_choice("k", "e1");
  cached.set("use the config of its run", "e7");
  Tuning tuning(
      {.recorded = one_choice("of another device", "e3"), .cached = cached, .measures = true});
  FakeEngines engines({1, 2, 3});
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_EQ(engines.selected, "e1");
  TuningChoices expected = one_choice("k", "e1");
  expected.set("of another device", "e3");
  EXPECT_EQ(tuning.chosen(), expected);
}

TEST(EngineChoice, FailsIfAnEngineCorruptsTheDevice) {
  Tuning tuning({.measures = true});
  FakeEngines engines({3, 1});
  engines.ruins = true;
  EXPECT_THROW(choose_engine(engines, "k", &tuning), Error);
  EXPECT_TRUE(tuning.chosen().empty());
}

TEST(EngineChoice, IsNoneIfNoEngineRuns) {
  Tuning tuning({.measures = true});
  FakeEngines none({}), broken({-1, -1});
  EXPECT_FALSE(choose_engine(none, "k", &tuning));
  EXPECT_FALSE(choose_engine(broken, "k", &tuning));
  EXPECT_TRUE(tuning.chosen().empty());
}

// An engine that claims to be deterministic and is not.
TEST(EngineChoice, IsTheFastestThatGivesTheSameBitsTwice) {
  Tuning tuning({.measures = true});
  FakeEngines engines({3, 1, 2}), one({1}), none({1, 2});
  engines.varying = {1};
  one.varying = {0};
  none.varying = {0, 1};
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_EQ(engines.selected, "e2");
  EXPECT_EQ(engines.asked_to_repeat, (std::vector<size_t>{1, 2}));
  EXPECT_FALSE(choose_engine(one, "one", &tuning));
  EXPECT_FALSE(choose_engine(none, "none", &tuning));
  EXPECT_EQ(tuning.chosen(), one_choice("k", "e2"));
}

TEST(EngineChoice, TriesTenEnginesAtMost) {
  Tuning tuning({.measures = true});
  FakeEngines many(std::vector<float>(40, 1.0f));
  EXPECT_TRUE(choose_engine(many, "k", &tuning));
  EXPECT_EQ(many.proposed, max_engines);
}

std::optional<float> two_ms() {
  return 2.0f;
}

TEST(NativeEngine, IsMeasuredWithTheLibrarysEngines) {
  for (float best : {1.0f, 3.0f}) {
    Tuning tuning({.measures = true});
    FakeEngines library({4, best});
    EnginesAndNative engines(library, two_ms);
    EXPECT_TRUE(choose_engine(engines, "k", &tuning));
    EXPECT_EQ(engines.is_native(), best > 2);
    EXPECT_EQ(tuning.measured(), one_choice("k", best > 2 ? "own" : "e1"));
    EnginesAndNative again(library, two_ms);  // another kernel of the shape
    EXPECT_TRUE(choose_engine(again, "k", &tuning));
    EXPECT_EQ(again.is_native(), best > 2);
  }
}

TEST(NativeEngine, ComesAfterTheLibrarysEnginesWithoutMeasurement) {
  FakeEngines library({4}), none({});
  EnginesAndNative favourite(library, two_ms), own(none, two_ms);
  EXPECT_TRUE(choose_engine(favourite, "k", nullptr));
  EXPECT_FALSE(favourite.is_native());
  EXPECT_TRUE(choose_engine(own, "k", nullptr));
  EXPECT_TRUE(own.is_native());
}

TEST(NativeEngine, IsTheFallbackIfTheLibrarysEnginesFail) {
  FakeEngines none({}), broken({-1, -1});
  for (FakeEngines* library : {&none, &broken}) {
    Tuning tuning({.recorded = one_choice("k", "e7"), .measures = true});
    EnginesAndNative engines(*library, two_ms);
    EXPECT_TRUE(choose_engine(engines, "k", &tuning));
    EXPECT_TRUE(engines.is_native());
    EXPECT_EQ(tuning.replaced(), one_choice("k", "own"));
  }
}

// A record of kernels with other bits is no record of these.
TEST(NativeEngine, IsNotRecalledByAnotherKernelsName) {
  Tuning tuning({.recorded = one_choice("k", native_name), .measures = true});
  FakeEngines none({});
  EnginesAndNative engines(none, two_ms, native_mma_name), again(none, two_ms, native_mma_name);
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_TRUE(engines.is_native());
  EXPECT_EQ(tuning.replaced(), one_choice("k", native_mma_name));
  EXPECT_TRUE(choose_engine(again, "k", &tuning));
  EXPECT_TRUE(again.is_native());
  EXPECT_TRUE(is_native(native_name) && is_native(native_mma_name) && !is_native("engine 5"));
}

TEST(NativeEngine, MayBeAbsent) {
  Tuning tuning({.recorded = one_choice("k", "own"), .measures = true});
  FakeEngines library({4}), none({});
  EnginesAndNative engines(library, nullptr), nothing(none, nullptr);
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_FALSE(engines.is_native());
  EXPECT_FALSE(choose_engine(nothing, "l", &tuning));
}

TEST(NativeEngine, CountsAmongTheTenEngines) {
  Tuning tuning({.measures = true});
  FakeEngines many(std::vector<float>(40, 3.0f));
  EnginesAndNative engines(many, two_ms);
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_EQ(many.proposed, max_engines - 1);
  EXPECT_TRUE(engines.is_native());
}

std::vector<float> times(size_t count) {
  return std::vector<float>(count, 1.0f);
}

TEST(EngineGroups, NameTheFastestEngineByItsGroup) {
  Tuning tuning({.measures = true});
  FakeEngines slow({3, 4}), quick({5, 1});
  EngineGroups groups({{"fp32", &slow}, {"bf16", &quick}});
  EXPECT_TRUE(choose_engine(groups, "k", &tuning));
  EXPECT_EQ(groups.selected(), 1u);
  EXPECT_EQ(quick.selected, "e1");
  EXPECT_EQ(slow.selected, "");
  EXPECT_EQ(*tuning.measured().find("k"), "bf16 e1");

  FakeEngines none({}), known({5, 6});
  EngineGroups later({{"fp32", &none}, {"bf16", &known}});
  EXPECT_TRUE(choose_engine(later, "k", &tuning));
  EXPECT_EQ(later.selected(), 1u);
  EXPECT_EQ(known.selected, "e1");
  EXPECT_EQ(known.runs, 0);
}

TEST(EngineGroups, StartWithTheFirstGroupThatHasEngines) {
  FakeEngines none({}), first({3, 1}), second({1});
  EngineGroups groups({{"a", &none}, {"b", &first}, {"c", &second}});
  EXPECT_TRUE(choose_engine(groups, "k", nullptr));
  EXPECT_EQ(groups.selected(), 1u);
  EXPECT_EQ(first.selected, "e0");
  EXPECT_EQ(second.proposed, 0u);
}

TEST(EngineGroups, ShareTheNumberOfProposals) {
  FakeEngines many(times(40)), few(times(1)), others(times(40));
  EngineGroups groups({{"a", &many}, {"b", &few}, {"c", &others}});
  EXPECT_EQ(groups.propose(10), 10u);
  EXPECT_EQ(many.proposed, 4u);
  EXPECT_EQ(few.proposed, 1u);
  EXPECT_EQ(others.proposed, 5u);
}

TEST(EngineGroups, AskALastResortOnlyIfNoOtherHasEngines) {
  FakeEngines many(times(40)), none({}), last(times(3));
  EngineGroups some({{"a", &many}, {"b", &last, true}});
  EXPECT_EQ(some.propose(10), 10u);
  EXPECT_EQ(many.proposed, 10u);
  EXPECT_EQ(last.proposed, 0u);
  EXPECT_TRUE(some.recall("b e1")) << "what another run has chosen";
  EngineGroups alone({{"a", &none}, {"b", &last, true}});
  EXPECT_EQ(alone.propose(10), 3u);
}

TEST(EngineGroups, MayShareANameIfTheirEnginesDiffer) {
  FakeEngines none({}), some({1, 2});
  EngineGroups groups({{"fp32", &none}, {"fp32", &some}});
  EXPECT_TRUE(groups.recall("fp32 e1"));
  EXPECT_EQ(groups.selected(), 1u);
}

TEST(EngineGroups, RefuseNamesOfNoEngine) {
  FakeEngines engines({1, 2});
  EngineGroups groups({{"bf16", &engines}});
  for (const char* name :
       {"", "e1", "bf16", "bf16 ", "bf16e1", "bf16 e2", "fp32 e1", "bf16 bf16 e1"})
    EXPECT_FALSE(groups.recall(name)) << name;
}

// Times of each candidate's runs, in order; the last one repeats. Negative: the run fails.
using Times = std::vector<std::vector<float>>;

// counts: of runs.
std::optional<size_t> choose(const Times& times, std::vector<size_t>* counts = nullptr) {
  std::vector<size_t> runs(times.size());
  auto chosen = fastest(times.size(), [&](size_t i) -> std::optional<float> {
    float time = times[i][std::min(runs[i]++, times[i].size() - 1)];
    return time < 0 ? std::nullopt : std::optional(time);
  });
  if (counts) *counts = runs;
  return chosen;
}

TEST(Fastest, TheFastestIsChosen) {
  EXPECT_EQ(choose(Times{{3.0f}, {1.0f}, {2.0f}}), 1u);
  EXPECT_EQ(choose(Times{{5.0f}}), 0u);
}

TEST(Fastest, IgnoresTheWarmUpAndCountsTheBestRun) {
  EXPECT_EQ(choose(Times{{9.0f, 1.0f}, {0.1f, 2.0f}}), 0u);
  EXPECT_EQ(choose(Times{{4.0f, 3.0f}, {9.0f, 5.0f, 5.0f, 2.0f, 9.0f}}), 1u);
}

TEST(Fastest, ExcludesCandidatesThatFail) {
  EXPECT_EQ(choose(Times{{-1.0f}, {4.0f}, {3.0f}}), 2u);
  EXPECT_EQ(choose(Times{{1.0f, 1.0f, -1.0f}, {4.0f}}), 1u);  // later, too
  EXPECT_EQ(choose(Times{{1.0f, 1.0f, -1.0f}, {4.0f, 4.0f, 4.0f, 3.0f}, {3.5f}}), 1u);
  std::vector<size_t> counts;
  choose({{-1.0f}, {2.0f}}, &counts);
  EXPECT_EQ(counts[0], 1u);
}

TEST(Fastest, IsNoneIfAllFailOrThereIsNone) {
  EXPECT_EQ(choose(Times{{-1.0f}, {1.0f, -1.0f}}), std::nullopt);
  EXPECT_EQ(choose(Times{}), std::nullopt);
}

TEST(Fastest, IsTheFirstWithinThreePercentOfTheBest) {
  EXPECT_EQ(choose(Times{{2.0f}, {1.02f}, {1.0f}}), 1u);
  EXPECT_EQ(choose(Times{{2.0f}, {1.04f}, {1.0f}}), 2u);
}

TEST(Fastest, StopsRunningCandidatesThatTakeTwiceTheBest) {
  std::vector<size_t> counts;
  EXPECT_EQ(choose({{3.0f}, {1.0f}, {1.9f}}, &counts), 1u);
  EXPECT_EQ(counts, (std::vector<size_t>{2, 6, 6}));
}

}  // namespace
}  // namespace spire
