#include "engine/graph/buffer_assignment.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <spire/layers.h>
#include <spire/random_stream.h>

#include "engine/device/device_memory.h"

namespace spire {
namespace {

bool may_lie(const FixedBlock& a, const FixedBlock& b) {
  bool together = a.life.first <= b.life.last && b.life.first <= a.life.last;
  bool apart = a.offset + a.life.bytes <= b.offset || b.offset + b.life.bytes <= a.offset;
  return !together || apart;
}

void expect_disjoint(const std::vector<Lifetime>& lives, const MemoryPlan& plan,
                     const std::vector<FixedBlock>& fixed = {}) {
  for (size_t i = 0; i < lives.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % tensor_alignment, 0u);
    EXPECT_LE(plan.offsets[i] + lives[i].bytes, plan.bytes);
    FixedBlock block{plan.offsets[i], lives[i]};
    for (size_t j = 0; j < i; ++j)
      EXPECT_TRUE(may_lie(block, {plan.offsets[j], lives[j]})) << i << " and " << j;
    for (const FixedBlock& other : fixed)
      EXPECT_TRUE(may_lie(block, other)) << i << " and " << other.offset;
  }
}

// Blocks of up to 5000 bytes that live for up to 12 of 50 nodes.
std::vector<Lifetime> random_lives(const RandomStream& random, uint64_t trial) {
  std::vector<Lifetime> lives;
  for (uint64_t i = 0; i < 60; ++i) {
    uint64_t at = (trial * 60 + i) * 3;
    int first = static_cast<int>(random.below(at, 40));
    int last = first + static_cast<int>(random.below(at + 1, 12));
    lives.push_back({1 + random.below(at + 2, 5000), first, last});
  }
  return lives;
}

TEST(MemoryPlan, TensorsAliveTogetherNeverOverlap) {
  RandomStream random(5, Purpose::initialize);
  for (uint64_t trial = 0; trial < 50; ++trial) {
    std::vector<Lifetime> lives = random_lives(random, trial);
    MemoryPlan plan = plan_memory(lives);
    expect_disjoint(lives, plan);
    EXPECT_GE(plan.bytes, peak_live_bytes(lives));
    EXPECT_LE(plan.bytes, 2 * peak_live_bytes(lives));
  }
}

TEST(MemoryPlan, TensorsLieOnFixedBlocksOnlyWhileTheseAreEmpty) {
  RandomStream random(6, Purpose::initialize);
  for (uint64_t trial = 0; trial < 50; ++trial) {
    std::vector<Lifetime> lives = random_lives(random, trial), all = lives;
    std::vector<FixedBlock> fixed;  // in any order, as gradients are final in another than first
    size_t end = 0;
    for (uint64_t i = 0; i < 20; ++i, end += 4096) {
      int first = static_cast<int>(random.below(trial * 20 + i, 50));
      fixed.push_back({i % 2 == 0 ? end : (20 - i) * 4096, {4096, first, 60}});
      all.push_back(fixed.back().life);
    }
    MemoryPlan plan = plan_memory(lives, fixed);
    expect_disjoint(lives, plan, fixed);
    EXPECT_GE(plan.bytes, std::max(end, peak_live_bytes(all)));
    EXPECT_LT(plan.bytes, end + plan_memory(lives).bytes);
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

// Parameters of 1, 16, 17, 40 and 100 floats; the second is never written.
TEST(MemoryPlan, GradientsAndGapsAreDisjointBlocksOfWholeUnits) {
  Graph graph(true);
  std::vector<ParameterGradient> gradients;
  for (int64_t size : {1, 16, 17, 40, 100}) {
    Value value = graph.parameter(fmt::format("w{}", size), {size}, init::constant(0));
    gradients.push_back({value, value});
  }
  ParameterLayout layout(graph, gradients);
  auto total = static_cast<size_t>(layout.total_floats()) * sizeof(float);
  std::vector<int> first_writers = {5, 6, 7, 8, 9};
  auto blocks = gradient_blocks(layout, first_writers, 10);
  std::vector<Lifetime> lives;
  for (size_t i = 0; i < blocks.size(); ++i) {
    lives.push_back(blocks[i].life);
    EXPECT_EQ(blocks[i].offset % tensor_alignment, 0u);
    EXPECT_EQ(blocks[i].life.bytes % tensor_alignment, 0u);
    for (size_t j = 0; j < i; ++j) EXPECT_TRUE(may_lie(blocks[i], blocks[j])) << i << " and " << j;
  }
  EXPECT_EQ(peak_live_bytes(lives), total);  // in the end all are alive
  EXPECT_EQ(plan_memory({}, blocks).bytes, total);
  first_writers[1] = -1;
  EXPECT_EQ(gradient_blocks(layout, first_writers, 10).size(), blocks.size() - 1);
}

TEST(MemoryPlan, NoTensorsNeedNoMemory) {
  EXPECT_EQ(plan_memory({}).bytes, 0u);
}

}  // namespace
}  // namespace spire
