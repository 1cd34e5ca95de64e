// Tests sums on a device against those of TreeSum, to the bit, and squares against fp64.
#include "engine/update/lane_arithmetic.h"

#include <cmath>
#include <limits>

#include <spire/error.h>

#include "tests/device/every_device.h"
#include "tests/update/tower_values.h"

namespace spire {
namespace {

constexpr int64_t chunk = TreeSum::chunk, length = 3 * chunk + 37;
constexpr FloatRange ranges[] = {{0, length},           {5, 4999},
                                 {chunk, chunk + 1},    {8, 8},
                                 {2 * chunk, length},   {chunk, 3 * chunk + 2},
                                 {chunk + 6, chunk + 7}};

Floats values_of_tower(int tower) {
  return spire::values_of_tower(tower, length);
}

class LaneArithmeticTest : public EveryDevice {
 protected:
  std::unique_ptr<LaneArithmetic> arithmetic() {
    return make_lane_arithmetic(stream(), LaneArithmetic::max_depth);
  }
  OnDevice<float> place(const std::vector<float>& values) { return {GetParam(), values}; }
};

TEST_P(LaneArithmeticTest, AddsWithinTheRangeAlone) {
  auto into = place(values_of_tower(0)), from = place(values_of_tower(1));
  for (FloatRange range : ranges) {
    into.set(values_of_tower(0));
    arithmetic()->add(into.data(), from.data(), range);
    stream().synchronize();
    std::vector<float> expected = values_of_tower(0), other = values_of_tower(1);
    for (auto i = static_cast<size_t>(range.begin); i < static_cast<size_t>(range.end); ++i)
      expected[i] += other[i];
    ASSERT_EQ(into.values(), expected) << range.begin << " to " << range.end;
  }
}

// In place within the range alone, and on the way to half the bytes and back.
TEST_P(LaneArithmeticTest, RoundsToBf16) {
  std::vector<float> values = values_of_tower(2);
  const float infinity = std::numeric_limits<float>::infinity();
  const float special[] = {1 + 0x1p-8f, 1 + 0x3p-8f, -0.0f,    infinity,
                           -infinity,   0x1.ffp127f, 0x1p-140f};
  std::copy(std::begin(special), std::end(special), values.begin() + 5);
  std::vector<float> rounded = values;
  for (float& value : rounded) value = static_cast<float>(bfloat16(value));
  auto there = place(values);
  for (FloatRange range : ranges) {
    there.set(values);
    arithmetic()->round(there.data(), range);
    stream().synchronize();
    std::vector<float> expected = values;
    std::copy(rounded.begin() + range.begin, rounded.begin() + range.end,
              expected.begin() + range.begin);
    ASSERT_EQ(there.values(), expected) << range.begin << " to " << range.end;
  }
  there.set(values);
  OnDevice<bfloat16> halves(GetParam(), std::vector<bfloat16>(values.size()));
  auto back = place(std::vector<float>(values.size(), -1));
  arithmetic()->narrow(there.data(), length, halves.data());
  arithmetic()->widen(halves.data(), length, back.data());
  stream().synchronize();
  EXPECT_EQ(back.values(), rounded);
}

// Leaf `shard` begins after the first chunk.
struct Towers {
  Towers(DeviceId device, int count, int shard) {
    for (int tower = 0; tower < count; ++tower) {
      host.push_back(values_of_tower(tower));
      int64_t first = tower == shard ? chunk : 0;
      there.emplace_back(device,
                         std::vector<float>(host.back().begin() + first, host.back().end()));
      TowerRange node{tower, tower + 1};
      host_leaves.push_back({node, host.back().data()});
      leaves.push_back({node, there.back().data(), first});
    }
  }
  std::vector<std::vector<float>> host;
  std::vector<OnDevice<float>> there;
  std::vector<TreeSum::Leaf> host_leaves, leaves;
};

std::vector<float> plain_sum(const TreeSum& tree, FloatRange range, std::vector<float> out) {
  std::vector<float> scratch(static_cast<size_t>(chunk * tree.depth()));
  for (int64_t i = range.begin; i < range.end; ++i)
    out[static_cast<size_t>(i)] = *tree.sum(i, 1, out.data() + i, scratch.data());
  return out;
}

TEST_P(LaneArithmeticTest, SumsHaveTheBitsOfTheTree) {
  auto sums = arithmetic();
  for (int count = 1; count <= 9; ++count) {
    Towers towers(GetParam(), count, count / 2);
    for (Reduction order : {Reduction::invariant, Reduction::native}) {
      TreeSum tree(order, {0, count}, towers.leaves), host(order, {0, count}, towers.host_leaves);
      for (FloatRange range : ranges) {
        if (range.begin < chunk) continue;
        std::vector<float> before = values_of_tower(100);
        auto out = place(before);
        sums->sum(tree, range, out.data());
        stream().synchronize();
        ASSERT_EQ(out.values(), plain_sum(host, range, before)) << count << " from " << range.begin;
      }
    }
  }
}

// Each leaf is the left half of the rest, so that all sums wait for the last leaf.
TEST_P(LaneArithmeticTest, SumsDeepTrees) {
  auto sums = arithmetic();
  for (int depth : {8, 9, LaneArithmetic::max_depth}) {
    Towers towers(GetParam(), depth, -1);
    int begin = 0, end = 1 << (depth - 1);
    for (size_t i = 0; i < towers.leaves.size(); ++i) {
      bool last = i + 1 == towers.leaves.size();
      TowerRange node{begin, last ? end : begin + (end - begin) / 2};
      towers.leaves[i].node = towers.host_leaves[i].node = node;
      begin = node.end;
    }
    TreeSum tree(Reduction::invariant, {0, end}, towers.leaves);
    TreeSum host(Reduction::invariant, {0, end}, towers.host_leaves);
    ASSERT_EQ(tree.depth(), depth);
    std::vector<float> before = values_of_tower(100);
    auto out = place(before);
    sums->sum(tree, {4, length}, out.data());
    stream().synchronize();
    ASSERT_EQ(out.values(), plain_sum(host, {4, length}, before)) << depth;
  }
}

TEST_P(LaneArithmeticTest, SumsOfRowsHaveTheBitsOfTheTree) {
  auto sums = arithmetic();
  for (int towers : {1, 2, 3, 5, 6, 7, 8, 64, 100}) {
    for (int64_t count : {int64_t{1}, int64_t{63}, int64_t{300}}) {
      std::vector<double> rows, expected;
      for (int tower = 0; tower < towers; ++tower) {
        auto values = values_of_tower(tower);
        for (size_t i = 0; i < static_cast<size_t>(count); ++i) rows.push_back(values[i] / 3.0);
      }
      for (int64_t i = 0; i < count; ++i) {
        std::vector<double> column;
        for (int tower = 0; tower < towers; ++tower)
          column.push_back(rows[static_cast<size_t>(tower * count + i)]);
        expected.push_back(tree_sum(column));
      }
      OnDevice<double> there(GetParam(), rows),
          out(GetParam(), std::vector<double>(expected.size()));
      sums->sum_rows(there.data(), towers, count, out.data());
      stream().synchronize();
      ASSERT_EQ(out.values(), expected) << towers << " towers of " << count;
    }
  }
}

TEST_P(LaneArithmeticTest, TheSumMayOverwriteTheFirstLeaf) {
  auto sums = arithmetic();
  for (int count : {1, 2, 7}) {
    for (FloatRange range : ranges) {
      Towers towers(GetParam(), count, -1);
      TreeSum tree(Reduction::invariant, {0, count}, towers.leaves);
      TreeSum host(Reduction::invariant, {0, count}, towers.host_leaves);
      sums->sum(tree, range, towers.there[0].data());
      stream().synchronize();
      ASSERT_EQ(towers.there[0].values(), plain_sum(host, range, towers.host[0])) << count;
    }
  }
}

// Also of more leaves than most runs have: members without peers, each a leaf.
TEST_P(LaneArithmeticTest, SumsUpToTheMaximumOfLeaves) {
  OnDevice<float> leaf(GetParam(), {1.0f, 2.0f}), out(GetParam(), {0.0f, 0.0f});
  constexpr int most = LaneArithmetic::max_gpu_leaves;
  auto sum_of = [&](int count) {
    std::vector<TreeSum::Leaf> leaves;
    for (int i = 0; i < count; ++i) leaves.push_back({{i, i + 1}, leaf.data()});
    arithmetic()->sum(TreeSum(Reduction::invariant, {0, count}, leaves), {0, 2}, out.data());
    stream().synchronize();
    return out.values();
  };
  for (int count : {64, 65, 128, most}) {
    auto sum = static_cast<float>(count);
    EXPECT_EQ(sum_of(count), (std::vector<float>{sum, 2 * sum}));
  }
  if (on_gpu())
    EXPECT_THROW(sum_of(most + 1), Error);
  else
    EXPECT_EQ(sum_of(most + 1), (std::vector<float>{most + 1, 2 * most + 2}));
}

TEST_P(LaneArithmeticTest, SquaresOfChunks) {
  std::vector<float> host = values_of_tower(0);
  auto values = place(host);
  OnDevice<double> squares(GetParam(), {-1, -1, -1, -1});
  arithmetic()->square(values.data(), {0, length}, squares.data());
  stream().synchronize();
  for (size_t c = 0; c < 4; ++c) {
    double expected = 0;
    for (size_t i = c * chunk; i < std::min<size_t>((c + 1) * chunk, length); ++i)
      expected += double{host[i]} * host[i];
    EXPECT_NEAR(squares.values()[c], expected, 1e-12 * expected);
  }
}

// Independent of the cut and the address of the buffer.
TEST_P(LaneArithmeticTest, ASquareDoesNotDependOnTheRange) {
  OnDevice<double> whole(GetParam(), {0, 0, 0, 0}), parts(GetParam(), {0, 0, 0, -1});
  auto values = place(values_of_tower(0));
  arithmetic()->square(values.data(), {0, length}, whole.data());
  std::vector<float> moved = values_of_tower(0);
  moved.insert(moved.begin(), 0.0f);
  auto shifted = place(moved);
  for (FloatRange range : {FloatRange{2 * chunk, 3 * chunk}, {0, 2 * chunk}, {chunk, chunk}})
    arithmetic()->square(shifted.data() + 1, range, parts.data());
  stream().synchronize();
  for (size_t c = 0; c < 3; ++c) EXPECT_EQ(parts.values()[c], whole.values()[c]);
  EXPECT_EQ(parts.values()[3], -1);  // outside of all ranges
}

SPIRE_TEST_ON_EVERY_DEVICE(LaneArithmeticTest);

}  // namespace
}  // namespace spire
