#include "kernels/autotune/fastest.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace spire {
namespace {

// Times of each candidate's runs, in order; the last goes on for ever. Negative: it fails.
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

TEST(Quickest, TheQuickestIsChosen) {
  EXPECT_EQ(choose(Times{{3.0f}, {1.0f}, {2.0f}}), 1u);
  EXPECT_EQ(choose(Times{{5.0f}}), 0u);
}

TEST(Quickest, TheFirstRunDoesNotCountAndTheBestOfTheOthersDoes) {
  EXPECT_EQ(choose(Times{{9.0f, 1.0f}, {0.1f, 2.0f}}), 0u);
  EXPECT_EQ(choose(Times{{4.0f, 3.0f}, {9.0f, 5.0f, 5.0f, 2.0f, 9.0f}}), 1u);
}

TEST(Quickest, WhatFailsIsOut) {
  EXPECT_EQ(choose(Times{{-1.0f}, {4.0f}, {3.0f}}), 2u);
  EXPECT_EQ(choose(Times{{1.0f, 1.0f, -1.0f}, {4.0f}}), 1u);  // later, too
  EXPECT_EQ(choose(Times{{1.0f, 1.0f, -1.0f}, {4.0f, 4.0f, 4.0f, 3.0f}, {3.5f}}), 1u);
  std::vector<size_t> counts;
  choose({{-1.0f}, {2.0f}}, &counts);
  EXPECT_EQ(counts[0], 1u);
}

TEST(Quickest, NoneWhereAllFailOrThereIsNone) {
  EXPECT_EQ(choose(Times{{-1.0f}, {1.0f, -1.0f}}), std::nullopt);
  EXPECT_EQ(choose(Times{}), std::nullopt);
}

TEST(Quickest, TheFirstOfThoseThatCanHardlyBeToldApart) {
  EXPECT_EQ(choose(Times{{2.0f}, {1.02f}, {1.0f}}), 1u);
  EXPECT_EQ(choose(Times{{2.0f}, {1.04f}, {1.0f}}), 2u);
}

TEST(Quickest, WhatTakesTwiceTheQuickestRests) {
  std::vector<size_t> counts;
  EXPECT_EQ(choose({{3.0f}, {1.0f}, {1.9f}}, &counts), 1u);
  EXPECT_EQ(counts, (std::vector<size_t>{2, 6, 6}));
}

}  // namespace
}  // namespace spire
