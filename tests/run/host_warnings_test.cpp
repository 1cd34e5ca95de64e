// What a run says of the machines of its ranks.
#include "engine/run/host_warnings.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/thread.h"
#include "tests/process/ranks.h"
#include "tests/run/made_run.h"

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

constexpr int64_t floats = 1000, steps = 1000;

CheckpointNeed need_of(const MadeRuns& runs, const Words& more) {
  return checkpoint_need(parse_config({}, runs.words("run", more)).config, floats, 0, steps);
}

TEST(CheckpointNeed, CountsWeightsSlotsAndAverages) {
  MadeRuns runs;
  using Case = std::pair<Words, uint64_t>;
  for (const auto& [words, values] : {Case{{"optimizer.momentum=0"}, 1},
                                      {{"optimizer.momentum=0.9"}, 2},
                                      {{"optimizer.name=adam"}, 3},
                                      {{"optimizer.name=adam", "ema.decay=0.9"}, 4}})
    EXPECT_EQ(need_of(runs, words).bytes, 4u * floats * values) << words[0];
}

TEST(CheckpointNeed, FrozenWeightsHaveNoSlotsAndNoAverage) {
  MadeRuns runs;
  RunConfig config =
      parse_config({}, runs.words("run", {"optimizer.name=adam", "ema.decay=0.9"})).config;
  EXPECT_EQ(checkpoint_need(config, floats, 900, steps).bytes, 4u * (floats + 3 * 100));
}

TEST(CheckpointNeed, CountsTheBestAndThoseThatAreKeptForever) {
  MadeRuns runs;
  EXPECT_EQ(need_of(runs, {"checkpoint.keep_last=2"}).kept, 3);
  EXPECT_EQ(need_of(runs, {"checkpoint.keep_last=2", "checkpoint.keep_every_steps=300"}).kept, 6);
}

// Those of a resumed run stay, or make room for new ones.
TEST(CheckpointNeed, KnowsWhatIsThere) {
  MadeRuns runs;
  EXPECT_EQ(need_of(runs, {}).there, 0u);
  std::filesystem::path folder = runs / "run" / "checkpoints";
  std::filesystem::create_directories(folder);
  for (const char* name : {"step_00000100.h5", "step_00000200.h5", "notes.txt"})
    std::ofstream(folder / name) << std::string(500, 'x');
  EXPECT_EQ(need_of(runs, {}).there, 1000u);
}

}  // namespace
}  // namespace spire
