// What a run says of the machines of its ranks.
#include "engine/run/host_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/thread.h"
#include "tests/process/ranks.h"

namespace spire {
namespace {

using testing::ElementsAre;

TEST(MachineWarnings, OfOneHostHaveNoName) {
  std::vector<HostWarnings> one = {{"a", {"low memory", "slow disk"}}};
  EXPECT_THAT(merge_by_host(one), ElementsAre("low memory", "slow disk"));
}

TEST(MachineWarnings, OfSeveralHostsComeOnceWithTheirNames) {
  std::vector<HostWarnings> hosts = {
      {"a", {"low memory"}}, {"b", {}}, {"c", {"slow disk", "low memory"}}};
  EXPECT_THAT(merge_by_host(hosts), ElementsAre("a, c: low memory", "c: slow disk"));
  hosts[0].texts = hosts[2].texts = {};
  EXPECT_THAT(merge_by_host(hosts), ElementsAre());
}

// Ranks that are told to be on other hosts; of each host the first one looks.
TEST(MachineWarnings, ComeFromEveryHostOfARun) {
  struct Case {
    std::vector<std::string> hosts;
    std::vector<bool> look;
    std::vector<std::string> warnings;
  };
  for (const Case& row :
       {Case{{"a", "a", "b"}, {true, false, true}, {"a, b: low memory", "a: rank 0", "b: rank 2"}},
        Case{{"a", "b", "a"}, {true, true, false}, {"a, b: low memory", "a: rank 0", "b: rank 1"}},
        Case{{"a", "a", "a"}, {true, false, false}, {"low memory", "rank 0"}}}) {
    auto worlds = threads_world(3, {.cores = allowed_cores(), .on_exit_timeout = {}});
    run_ranks(3, [&](int rank) {
      auto r = static_cast<size_t>(rank);
      for (size_t other : {0, 1, 2}) worlds[r]->ranks[other].host = row.hosts[other];
      bool looked = false;
      auto texts = gather_by_host(RankGroup(worlds[r].get(), nullptr), [&] {
        looked = true;
        return std::vector<std::string>{"low memory", fmt::format("rank {}", rank)};
      });
      EXPECT_EQ(looked, row.look[r]);
      EXPECT_EQ(texts, rank == 0 ? row.warnings : std::vector<std::string>{});
    });
  }
  auto alone = [] { return std::vector<std::string>{"low memory"}; };
  EXPECT_THAT(gather_by_host(RankGroup(nullptr, nullptr), alone), ElementsAre("low memory"));
}

}  // namespace
}  // namespace spire
