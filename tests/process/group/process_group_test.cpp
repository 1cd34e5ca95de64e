#include "engine/process/group/process_group.h"

#include <gtest/gtest.h>
#include <tests/process/ranks.h>

namespace spire {
namespace {

std::string text_of(int rank) {
  return std::string(static_cast<size_t>(rank) * 100'000, static_cast<char>('a' + rank));
}

TEST(GroupText, EveryRankGetsAllTextsByRank) {
  for (int size : {1, 2, 5}) {
    auto groups = threads_groups(size);
    run_ranks(size, [&](int rank) {
      auto texts = all_gather(*groups[size_t(rank)], text_of(rank));
      ASSERT_EQ(texts.size(), size_t(size));
      for (int r = 0; r < size; ++r) EXPECT_EQ(texts[size_t(r)], text_of(r));
    });
  }
}

TEST(GroupText, RankZerosTextReachesAll) {
  auto groups = threads_groups(3);
  run_ranks(3, [&](int rank) {
    EXPECT_EQ(broadcast(*groups[size_t(rank)], "from " + std::to_string(rank)), "from 0");
    EXPECT_EQ(broadcast(*groups[size_t(rank)], rank == 0 ? "" : "else"), "");
  });
}

TEST(GroupText, OneProcessGathersItsOwn) {
  auto group = single_process();
  EXPECT_EQ(all_gather(*group, "alone"), std::vector<std::string>{"alone"});
  EXPECT_EQ(broadcast(*group, "alone"), "alone");
}

}  // namespace
}  // namespace spire
