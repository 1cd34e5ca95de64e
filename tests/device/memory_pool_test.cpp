// Tests counts, refusals and predictions of a pool. On GPUs: tests/emulation/memory_test.cpp.
#include "engine/device/memory_pool.h"

#include <gtest/gtest.h>

#include <spire/error.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using enum MemoryKind;

// The message of the out_of_memory error that `action` ends with; empty: none.
std::string shortage_of(const std::function<void()>& action) {
  return message_if_any(Category::out_of_memory, action);
}

TEST(MemoryUse, AddsUpByKind) {
  MemoryUse use{{weights, 3}, {workspace, 4}, {weights, 1}};
  EXPECT_EQ(use[weights], 4u);
  EXPECT_EQ(use.total(), 8u);
  EXPECT_EQ(use.largest(), weights);
  use += {{activations, 9}};
  EXPECT_EQ(use.largest(), activations);
  use -= {{activations, 9}, {weights, 4}};
  EXPECT_EQ(use, (MemoryUse{{workspace, 4}}));
}

TEST(MemoryUse, EveryKindHasAName) {
  for (MemoryKind kind : all_memory_kinds) EXPECT_FALSE(to_string(kind).empty());
}

TEST(MemoryPool, CountsWhatIsThereAndTheMostOfEachKind) {
  MemoryPool pool{DeviceId{}};
  auto kept = pool.allocate(weights, 100);
  auto arena = pool.allocate({{activations, 50}, {workspace, 7}});
  EXPECT_EQ(arena->bytes(), 57u);
  EXPECT_EQ(pool.in_use(), (MemoryUse{{weights, 100}, {activations, 50}, {workspace, 7}}));
  arena.reset();
  auto smaller = pool.allocate(activations, 20);
  EXPECT_EQ(pool.in_use(), (MemoryUse{{weights, 100}, {activations, 20}}));
  EXPECT_EQ(pool.peak(), (MemoryUse{{weights, 100}, {activations, 50}, {workspace, 7}}));
}

TEST(MemoryPool, ABlockMayOutliveIt) {
  std::unique_ptr<DeviceMemory> block;
  {
    MemoryPool pool{DeviceId{}};
    block = pool.allocate(weights, 8);
  }
  block->as<char>()[7] = 1;
  block.reset();
}

TEST(MemoryPool, GrowsUpToItsLimitAndNotBeyond) {
  MemoryPool pool(DeviceId{}, {.limit = 100, .explain = {}});
  auto first = pool.allocate(weights, 60);
  auto second = pool.allocate(gradients, 40);
  EXPECT_NE(shortage_of([&] { pool.allocate(workspace, 1); }), "");
  second.reset();
  EXPECT_NE(shortage_of([&] { pool.allocate(workspace, 41); }), "");
  EXPECT_NO_THROW(second = pool.allocate(workspace, 40));
  EXPECT_EQ(pool.in_use(), (MemoryUse{{weights, 60}, {workspace, 40}}));
  EXPECT_EQ(pool.peak(), (MemoryUse{{weights, 60}, {gradients, 40}, {workspace, 40}}));
}

TEST(MemoryPool, GivesItsExplainerAllNumbers) {
  std::optional<MemoryShortage> heard;
  auto explain = [&](const MemoryShortage& shortage) {
    heard = shortage;
    return std::string("too little");
  };
  MemoryPool pool({DeviceKind::cpu, 3}, {.limit = 100, .explain = explain});
  pool.plan({{weights, 60}, {workspace, 41}});
  auto block = pool.allocate(weights, 60);
  EXPECT_EQ(shortage_of([&] { pool.allocate(workspace, 41); }), "too little");
  ASSERT_TRUE(heard);
  EXPECT_EQ(to_string(heard->device), "cpu:3");
  EXPECT_EQ(heard->asked, (MemoryUse{{workspace, 41}}));
  EXPECT_EQ(heard->in_use, (MemoryUse{{weights, 60}}));
  EXPECT_EQ(heard->planned, pool.planned());
  EXPECT_EQ(heard->left(), 40u);
  EXPECT_GT(heard->total, size_t{1} << 20);
}

TEST(MemoryPool, NamesASizeThatTheHostLacks) {
  MemoryPool pool{DeviceId{}};
  std::string text = shortage_of([&] { pool.allocate(activations, size_t{1} << 60); });
  EXPECT_EQ(text.find("cpu:0: cannot allocate 1048576.0 TiB for activations; "), 0u) << text;
  EXPECT_EQ(pool.in_use(), MemoryUse());
}

TEST(MemoryPool, SaysHowMuchTheLimitLeaves) {
  MemoryPool pool(DeviceId{}, {.limit = 3 << 20, .explain = {}});
  auto block = pool.allocate(weights, 1 << 20);
  EXPECT_EQ(shortage_of([&] { pool.allocate(gradients, 5 << 20); }),
            "cpu:0: cannot allocate 5.0 MiB for gradients; 2.0 MiB are left of the 3.0 MiB that "
            "memory.limit allows");
}

MemoryPools two_pools(std::optional<size_t> limit) {
  MemoryPools pools;
  for (int index = 0; index < 2; ++index)
    pools.push_back(std::make_unique<MemoryPool>(DeviceId{DeviceKind::cpu, index},
                                                 MemoryPool::Options{.limit = limit}));
  return pools;
}

TEST(ForeseeShortage, LooksAtTheRestOfEachPlan) {
  MemoryPools pools = two_pools(100);
  for (auto& pool : pools) pool->plan({{weights, 60}, {activations, 40}});
  auto block = pools[1]->allocate(weights, 60);
  EXPECT_FALSE(foresee_shortage(pools));
  pools[1]->plan({{weights, 60}, {activations, 41}});
  auto shortage = foresee_shortage(pools);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(to_string(shortage->device), "cpu:1");
  EXPECT_EQ(shortage->asked, (MemoryUse{{activations, 41}}));
  EXPECT_EQ(shortage->left(), 40u);
}

TEST(ForeseeShortage, CpusShareTheMemoryOfTheHost) {
  MemoryPools pools = two_pools({});
  pools[0]->plan({{weights, size_t{1} << 20}});
  EXPECT_FALSE(foresee_shortage(pools));
  size_t most = *space_of(DeviceId{}).free;
  for (auto& pool : pools) pool->plan({{weights, most / 4 * 3}});
  auto shortage = foresee_shortage(pools);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->pools, 2);
  EXPECT_FALSE(shortage->limited_by.empty());
  for (auto& pool : pools) pool->plan({{weights, most / 4}});
  EXPECT_FALSE(foresee_shortage(pools));
}

TEST(ForeseeShortage, NamesAllThatIsFreeWhereAShareMayBeUsed) {
  MemoryPools pools = two_pools({});
  size_t most = *space_of(DeviceId{}).free;
  for (auto& pool : pools) pool->plan({{weights, most / 3}});
  EXPECT_FALSE(foresee_shortage(pools));
  auto shortage = foresee_shortage(pools, 0.5);
  ASSERT_TRUE(shortage);
  EXPECT_GT(shortage->free, most / 3 * 2);
}

}  // namespace
}  // namespace spire
