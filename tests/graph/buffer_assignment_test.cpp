#include "engine/graph/buffer_assignment.h"

#include <gtest/gtest.h>

#include "engine/base/philox.h"
#include "engine/device/device_memory.h"

namespace spire {
namespace {

void expect_disjoint(const std::vector<Lifetime>& lives, const MemoryPlan& plan) {
  for (size_t i = 0; i < lives.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % tensor_alignment, 0u);
    EXPECT_LE(plan.offsets[i] + lives[i].bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      bool together = lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
      bool apart = plan.offsets[i] + lives[i].bytes <= plan.offsets[j] ||
                   plan.offsets[j] + lives[j].bytes <= plan.offsets[i];
      EXPECT_TRUE(!together || apart) << i << " and " << j;
    }
  }
}

TEST(MemoryPlan, TensorsAliveTogetherNeverOverlap) {
  RandomStream random(5, Purpose::initialize);
  for (uint64_t trial = 0; trial < 50; ++trial) {
    std::vector<Lifetime> lives;
    for (uint64_t i = 0; i < 60; ++i) {
      uint64_t at = (trial * 60 + i) * 3;
      int first = static_cast<int>(random.below(at, 40));
      int last = first + static_cast<int>(random.below(at + 1, 12));
      lives.push_back({1 + random.below(at + 2, 5000), first, last});
    }
    MemoryPlan plan = plan_memory(lives);
    expect_disjoint(lives, plan);
    EXPECT_GE(plan.bytes, peak_live_bytes(lives));
    EXPECT_LE(plan.bytes, 2 * peak_live_bytes(lives));
  }
}

TEST(MemoryPlan, AChainNeedsTwoBuffersOnly) {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 20; ++i) chain.push_back({1024, i, i + 1});
  EXPECT_EQ(plan_memory(chain).bytes, 2048u);
}

TEST(MemoryPlan, ForwardBackwardOfAChainReachesTheLowerBound) {
  std::vector<Lifetime> lives;  // activation i lives until its backward node
  for (int i = 0; i < 10; ++i) lives.push_back({1000, i, 20 - i});
  EXPECT_EQ(plan_memory(lives).bytes, peak_live_bytes(lives));
}

TEST(MemoryPlan, NoTensorsNeedNoMemory) {
  EXPECT_EQ(plan_memory({}).bytes, 0u);
}

}  // namespace
}  // namespace spire
