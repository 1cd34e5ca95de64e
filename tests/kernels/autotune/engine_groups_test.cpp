#include "kernels/autotune/engine_groups.h"

#include <gtest/gtest.h>
#include <tests/kernels/autotune/fake_engines.h>

namespace spire {
namespace {

using testing::FakeEngines;

std::vector<float> times(size_t count) {
  return std::vector<float>(count, 1.0f);
}

TEST(EngineGroups, TheQuickestOfAllIsSettledOnByTheNameOfItsGroup) {
  Tuning tuning({.measures = true});
  FakeEngines slow({3, 4}), quick({5, 1});
  EngineGroups groups({{"fp32", &slow}, {"bf16", &quick}});
  EXPECT_TRUE(choose_engine(groups, "k", &tuning));
  EXPECT_EQ(groups.settled(), 1u);
  EXPECT_EQ(quick.settled, "e1");
  EXPECT_EQ(slow.settled, "");
  EXPECT_EQ(*tuning.measured().find("k"), "bf16 e1");

  FakeEngines none({}), known({5, 6});
  EngineGroups later({{"fp32", &none}, {"bf16", &known}});
  EXPECT_TRUE(choose_engine(later, "k", &tuning));
  EXPECT_EQ(later.settled(), 1u);
  EXPECT_EQ(known.settled, "e1");
  EXPECT_EQ(known.runs, 0);
}

TEST(EngineGroups, WithoutTuningItIsTheFirstOneOfTheFirstGroupThatHasAny) {
  FakeEngines none({}), first({3, 1}), second({1});
  EngineGroups groups({{"a", &none}, {"b", &first}, {"c", &second}});
  EXPECT_TRUE(choose_engine(groups, "k", nullptr));
  EXPECT_EQ(groups.settled(), 1u);
  EXPECT_EQ(first.settled, "e0");
  EXPECT_EQ(second.proposed, 0u);
}

TEST(EngineGroups, ManyEnginesOfOneLeaveRoomForTheOthers) {
  FakeEngines many(times(40)), few(times(1)), others(times(40));
  EngineGroups groups({{"a", &many}, {"b", &few}, {"c", &others}});
  EXPECT_EQ(groups.propose(10), 10u);
  EXPECT_EQ(many.proposed, 4u);
  EXPECT_EQ(few.proposed, 1u);
  EXPECT_EQ(others.proposed, 5u);
}

TEST(EngineGroups, GroupsOfOneNameAreToldApartByTheirEngines) {
  FakeEngines none({}), some({1, 2});
  EngineGroups groups({{"fp32", &none}, {"fp32", &some}});
  EXPECT_TRUE(groups.recall("fp32 e1"));
  EXPECT_EQ(groups.settled(), 1u);
}

TEST(EngineGroups, NamesOfNoEngineAreRefused) {
  FakeEngines engines({1, 2});
  EngineGroups groups({{"bf16", &engines}});
  for (const char* name :
       {"", "e1", "bf16", "bf16 ", "bf16e1", "bf16 e2", "fp32 e1", "bf16 bf16 e1"})
    EXPECT_FALSE(groups.recall(name)) << name;
}

}  // namespace
}  // namespace spire
