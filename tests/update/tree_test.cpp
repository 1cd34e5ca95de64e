#include "engine/update/tree.h"

#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "tests/update/tower_values.h"

namespace spire {
namespace {

constexpr int64_t length = 100;

// Imitates lanes: writes each tower's values, adds up the lanes' subtrees, then sums the tree.
using MakeSchedule = LaneSchedule (*)(Reduction, int towers, TowerRange);
Floats sum_on_lanes(const std::vector<Floats>& values, int lanes, MakeSchedule make_schedule,
                    Reduction reduction = Reduction::invariant) {
  int towers = static_cast<int>(values.size());
  std::vector<std::vector<Floats>> buffers(static_cast<size_t>(lanes));
  std::vector<TreeSum::Leaf> leaves;
  for (int lane = 0; lane < lanes; ++lane) {
    TowerRange range = towers_of_lane(towers, lane, lanes);
    LaneSchedule schedule = make_schedule(reduction, towers, range);
    auto& mine = buffers[static_cast<size_t>(lane)];
    mine.assign(static_cast<size_t>(schedule.buffers), Floats(length));
    for (int i = 0; i < range.size(); ++i) {
      const TreeStep& step = schedule.steps[static_cast<size_t>(i)];
      mine[static_cast<size_t>(step.target)] = values[static_cast<size_t>(range.begin + i)];
      for (TreeAdd add : step.adds)
        for (size_t e = 0; e < length; ++e)
          mine[static_cast<size_t>(add.into)][e] += mine[static_cast<size_t>(add.from)][e];
    }
    for (const BufferedNode& node : schedule.nodes)
      leaves.push_back({node.range, mine[static_cast<size_t>(node.buffer)].data()});
  }
  TreeSum tree(reduction, {0, towers}, leaves);
  std::vector<float> out(length), scratch(static_cast<size_t>(TreeSum::chunk * tree.depth()));
  const float* sum = tree.sum(0, length, out.data(), scratch.data());
  return {sum, sum + length};
}

TEST(Tree, SumIsTheSameBitsForEverySplitIntoLanes) {
  for (int towers = 1; towers <= 17; ++towers) {
    auto values = values_of_towers(towers, length);
    for (int lanes = 1; lanes <= towers; ++lanes) {
      for (MakeSchedule schedule : {lane_schedule, lockstep_schedule}) {
        ASSERT_EQ(sum_on_lanes(values, lanes, schedule), tree_of(values, {0, towers}))
            << towers << " towers, " << lanes;
      }
    }
  }
}

// The order of `native` inside a process: lanes one after another, towers one after another.
float sequence(const std::vector<Floats>& values, int lanes, size_t element) {
  auto towers = static_cast<int>(values.size());
  float total = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    TowerRange range = towers_of_lane(towers, lane, lanes);
    float sum = values[static_cast<size_t>(range.begin)][element];
    for (int t = range.begin + 1; t < range.end; ++t)
      sum += values[static_cast<size_t>(t)][element];
    total = lane == 0 ? sum : total + sum;
  }
  return total;
}

TEST(Tree, NativeSumsInTheOrderOfTowersAndLanes) {
  for (int towers : {1, 2, 5, 8}) {
    auto values = values_of_towers(towers, length);
    for (int lanes = 1; lanes <= towers; ++lanes) {
      for (MakeSchedule schedule : {lane_schedule, lockstep_schedule}) {
        auto sum = sum_on_lanes(values, lanes, schedule, Reduction::native);
        for (size_t e = 0; e < length; ++e)
          ASSERT_EQ(sum[e], sequence(values, lanes, e)) << towers << " towers, " << lanes;
      }
    }
  }
}

TEST(Tree, ALeafMayBeAShardOnly) {
  std::vector<float> whole = {1, 2, 3, 4}, shard = {30, 40};
  TreeSum tree(Reduction::invariant, {0, 2},
               {{{0, 1}, whole.data(), 0}, {{1, 2}, shard.data(), 2}});
  std::vector<float> out(2), scratch(static_cast<size_t>(TreeSum::chunk * tree.depth()));
  EXPECT_EQ(tree.sum(2, 2, out.data(), scratch.data()), out.data());
  EXPECT_EQ(out, (std::vector<float>{33, 44}));
}

TEST(Tree, OrderMattersForTheseValues) {  // so the test above can fail
  auto values = values_of_towers(8, length);
  Floats tree = tree_of(values, {0, 8});
  int different = 0;
  for (size_t e = 0; e < length; ++e) {
    float sequential = 0;
    for (auto& tower : values) sequential += tower[e];
    different += sequential != tree[e];
  }
  EXPECT_GT(different, 10);
}

TEST(Tree, LanesNeedLogarithmicallyManyBuffers) {
  EXPECT_EQ(lane_schedule(Reduction::invariant, 1, {0, 1}).buffers, 1);
  EXPECT_EQ(lane_schedule(Reduction::invariant, 8, {0, 8}).buffers, 4);
  EXPECT_EQ(lane_schedule(Reduction::invariant, 64, {0, 64}).buffers, 7);
  EXPECT_EQ(lane_schedule(Reduction::invariant, 8, {4, 8}).nodes.at(0).range, (TowerRange{4, 8}));
  EXPECT_EQ(lane_schedule(Reduction::native, 64, {0, 64}).buffers, 2);
}

// Activations of a tower lie in the last buffer until it writes its gradient.
TEST(LaneSchedule, NoTowerRunsWhileTheLastBufferHoldsASum) {
  for (Reduction reduction : {Reduction::invariant, Reduction::native}) {
    for (int towers = 1; towers <= 20; ++towers) {
      for (int begin = 0; begin < towers; ++begin) {
        for (int end = begin + 1; end <= towers; ++end) {
          LaneSchedule schedule = lane_schedule(reduction, towers, {begin, end});
          std::set<int> holding;
          for (const TreeStep& step : schedule.steps) {
            EXPECT_FALSE(holding.contains(schedule.buffers - 1)) << towers << begin << end;
            holding.insert(step.target);
            for (TreeAdd add : step.adds) holding.erase(add.from);
          }
        }
      }
    }
  }
}

TEST(Tree, DoublesFollowTheSameTree) {
  EXPECT_EQ(tree_sum(std::vector<double>{1e16, 1.0, -1e16}), (1e16 + 1.0) + -1e16);
  EXPECT_EQ(tree_sum(std::vector<double>{1, 1e16, 1, -1e16}), (1 + 1e16) + (1 + -1e16));
}

TEST(Tree, TowersAreSharedContiguously) {
  for (int towers = 1; towers < 20; ++towers)
    for (int lanes = 1; lanes <= towers; ++lanes) {
      int next = 0;
      for (int lane = 0; lane < lanes; ++lane) {
        TowerRange range = towers_of_lane(towers, lane, lanes);
        EXPECT_EQ(range.begin, next);
        EXPECT_GE(range.size(), 1);
        next = range.end;
      }
      EXPECT_EQ(next, towers);
    }
}

}  // namespace
}  // namespace spire
