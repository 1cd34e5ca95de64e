#include <gtest/gtest.h>
#include <tests/kernels/autotune/fake_engines.h>

#include "kernels/autotune/native_kernel.h"

namespace spire {
namespace {

using testing::FakeEngines;

TuningChoices one(const std::string& key, const std::string& engine) {
  TuningChoices choices;
  choices.set(key, engine);
  return choices;
}

TEST(EngineChoice, WithoutTuningItIsTheFavourite) {
  FakeEngines engines({3, 1});
  EXPECT_TRUE(choose_engine(engines, "k", nullptr));
  EXPECT_EQ(engines.settled, "e0");
  EXPECT_EQ(engines.runs, 0);
  EXPECT_EQ(engines.proposed, 1u);
}

TEST(EngineChoice, TheQuickestIsKeptForTheRunAndForOthers) {
  Tuning tuning({.measures = true});
  FakeEngines engines({3, -1, 1, 2});
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_EQ(engines.settled, "e2");
  EXPECT_EQ(tuning.chosen(), one("k", "e2"));
  EXPECT_EQ(tuning.measured(), one("k", "e2"));
  EXPECT_TRUE(tuning.replaced().empty());
}

TEST(EngineChoice, WhatWasChosenIsNotMeasuredAgain) {
  Tuning tuning({.measures = true});
  FakeEngines first({3, 1}), second({1, 3}), other({1, 3});
  EXPECT_TRUE(choose_engine(first, "k", &tuning));
  EXPECT_TRUE(choose_engine(second, "k", &tuning));  // of another lane
  EXPECT_TRUE(choose_engine(other, "another k", &tuning));
  EXPECT_EQ(second.settled, "e1");
  EXPECT_EQ(second.runs, 0);
  EXPECT_EQ(other.settled, "e0");
}

TEST(EngineChoice, TheRunsOwnChoiceComesBeforeTheCaches) {
  Tuning tuning({.recorded = one("k", "e2"), .cached = one("k", "e1"), .measures = true});
  FakeEngines engines({1, 2, 3});
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_EQ(engines.settled, "e2");
  EXPECT_TRUE(tuning.measured().empty());
}

TEST(EngineChoice, OfTheCacheTheRunRecordsWhatItUses) {
  TuningChoices cached = one("k", "e1");
  cached.set("use the config of its run", "e7");
  Tuning tuning({.recorded = one("of another device", "e3"), .cached = cached, .measures = true});
  FakeEngines engines({1, 2, 3});
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_EQ(engines.settled, "e1");
  TuningChoices expected = one("k", "e1");
  expected.set("of another device", "e3");
  EXPECT_EQ(tuning.chosen(), expected);
}

TEST(EngineChoice, AnEngineThatIsNotThereAnyMoreIsReplaced) {
  for (bool measures : {true, false}) {
    Tuning tuning({.recorded = one("k", "e9"), .measures = measures});
    FakeEngines engines({2, 1});
    EXPECT_TRUE(choose_engine(engines, "k", &tuning));
    EXPECT_EQ(engines.settled, measures ? "e1" : "e0");
    EXPECT_EQ(tuning.chosen(), one("k", engines.settled));
    EXPECT_EQ(tuning.replaced(), tuning.chosen());
  }
}

TEST(EngineChoice, WhereNothingIsMeasuredItIsTheFavouriteForThisRunAlone) {
  Tuning tuning({.measures = false});
  FakeEngines engines({3, 1});
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_EQ(engines.settled, "e0");
  EXPECT_EQ(tuning.chosen(), one("k", "e0"));
  EXPECT_TRUE(tuning.measured().empty());
}

TEST(EngineChoice, WithoutMemoryToMeasureInItIsTheFavouriteForThisRunAlone) {
  Tuning tuning({.measures = true});
  FakeEngines engines({3, 1});
  engines.memory = false;
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_EQ(engines.settled, "e0");
  EXPECT_EQ(tuning.chosen(), one("k", "e0"));
  EXPECT_TRUE(tuning.measured().empty());
}

TEST(EngineChoice, AnEngineThatRuinsTheDeviceEndsTheChoice) {
  Tuning tuning({.measures = true});
  FakeEngines engines({3, 1});
  engines.ruins = true;
  EXPECT_THROW(choose_engine(engines, "k", &tuning), Error);
  EXPECT_TRUE(tuning.chosen().empty());
}

TEST(EngineChoice, NoEngineOrNoneThatRunsIsNoChoice) {
  Tuning tuning({.measures = true});
  FakeEngines none({}), broken({-1, -1});
  EXPECT_FALSE(choose_engine(none, "k", &tuning));
  EXPECT_FALSE(choose_engine(broken, "k", &tuning));
  EXPECT_TRUE(tuning.chosen().empty());
}

TEST(EngineChoice, AtMostTenAreTried) {
  Tuning tuning({.measures = true});
  FakeEngines many(std::vector<float>(40, 1.0f));
  EXPECT_TRUE(choose_engine(many, "k", &tuning));
  EXPECT_EQ(many.proposed, max_engines);
}

TEST(EngineChoice, OneWithoutRivalsIsNotKeptForOthers) {
  Tuning tuning({.measures = true});
  FakeEngines engines({3});
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_EQ(engines.runs, 0);
  EXPECT_EQ(tuning.chosen(), one("k", "e0"));
  EXPECT_TRUE(tuning.measured().empty());
}

std::optional<float> two_ms() {
  return 2.0f;
}

TEST(OwnEngine, IsMeasuredBesideTheLibrarys) {
  for (float best : {1.0f, 3.0f}) {
    Tuning tuning({.measures = true});
    FakeEngines library({4, best});
    EnginesAndNative engines(library, two_ms);
    EXPECT_TRUE(choose_engine(engines, "k", &tuning));
    EXPECT_EQ(engines.is_native(), best > 2);
    EXPECT_EQ(tuning.measured(), one("k", best > 2 ? "own" : "e1"));
    EnginesAndNative again(library, two_ms);  // another kernel of the shape
    EXPECT_TRUE(choose_engine(again, "k", &tuning));
    EXPECT_EQ(again.is_native(), best > 2);
  }
}

TEST(OwnEngine, IsTheLastWhereNothingIsMeasured) {
  FakeEngines library({4}), none({});
  EnginesAndNative favourite(library, two_ms), own(none, two_ms);
  EXPECT_TRUE(choose_engine(favourite, "k", nullptr));
  EXPECT_FALSE(favourite.is_native());
  EXPECT_TRUE(choose_engine(own, "k", nullptr));
  EXPECT_TRUE(own.is_native());
}

TEST(OwnEngine, IsWhatIsLeftWhereTheLibrarysAreRefusedOrFail) {
  FakeEngines none({}), broken({-1, -1});
  for (FakeEngines* library : {&none, &broken}) {
    Tuning tuning({.recorded = one("k", "e7"), .measures = true});
    EnginesAndNative engines(*library, two_ms);
    EXPECT_TRUE(choose_engine(engines, "k", &tuning));
    EXPECT_TRUE(engines.is_native());
    EXPECT_EQ(tuning.replaced(), one("k", "own"));
  }
}

// A record of kernels with other bits is no record of these.
TEST(OwnEngine, KeepsToItsName) {
  Tuning tuning({.recorded = one("k", native_name), .measures = true});
  FakeEngines none({});
  EnginesAndNative engines(none, two_ms, native_mma_name), again(none, two_ms, native_mma_name);
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_TRUE(engines.is_native());
  EXPECT_EQ(tuning.replaced(), one("k", native_mma_name));
  EXPECT_TRUE(choose_engine(again, "k", &tuning));
  EXPECT_TRUE(again.is_native());
  EXPECT_TRUE(is_native(native_name) && is_native(native_mma_name) && !is_native("engine 5"));
}

TEST(OwnEngine, IsNoneWhereThereIsNone) {
  Tuning tuning({.recorded = one("k", "own"), .measures = true});
  FakeEngines library({4}), none({});
  EnginesAndNative engines(library, nullptr), nothing(none, nullptr);
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_FALSE(engines.is_native());
  EXPECT_FALSE(choose_engine(nothing, "l", &tuning));
}

TEST(OwnEngine, IsOneOfAtMostTen) {
  Tuning tuning({.measures = true});
  FakeEngines many(std::vector<float>(40, 3.0f));
  EnginesAndNative engines(many, two_ms);
  EXPECT_TRUE(choose_engine(engines, "k", &tuning));
  EXPECT_EQ(many.proposed, max_engines - 1);
  EXPECT_TRUE(engines.is_native());
}

TEST(Tuning, AnotherProcessesChoicesComeFirst) {
  Tuning tuning({.recorded = one("k", "mine")});
  TuningChoices theirs = one("k", "theirs");
  theirs.set("l", "theirs");
  tuning.adopt(theirs);
  EXPECT_EQ(tuning.find("k"), "theirs");
  EXPECT_EQ(tuning.find("l"), "theirs");
  EXPECT_EQ(tuning.find("m"), std::nullopt);
}

}  // namespace
}  // namespace spire
