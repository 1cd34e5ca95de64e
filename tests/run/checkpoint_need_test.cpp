// How much room the checkpoints of a run take, at its start and when it is resumed.
#include <fstream>

#include <gtest/gtest.h>

#include "engine/run/host_warnings.h"
#include "tests/run/made_run.h"

namespace spire {
namespace {

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
