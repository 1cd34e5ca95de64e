#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spire/base/error.h>
#include <spire/train/placement.h>

namespace spire {
namespace {

Placement place(RunConfig config, int cores, std::optional<int> kept = {}) {
  RankPlace alone;
  for (int core = 0; core < cores; ++core) alone.cores.push_back(core);
  CudaStatus cuda;
  cuda.why_none = "driver not found";
  return place_towers(config, {alone}, 0, cuda, kept);
}

RunConfig config_of(std::vector<std::string> devices, std::optional<int64_t> towers = {},
                    std::optional<int64_t> threads = {}) {
  RunConfig config;
  config.devices = std::move(devices);
  config.towers = towers;
  config.tower_threads = threads;
  return config;
}

void expect_error(const RunConfig& config, Category category, const std::string& text) {
  try {
    place(config, 8, 3);
    ADD_FAILURE() << "no error; expected " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), category) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr(text));
  }
}

TEST(Placement, TowersDefaultToDevicesAndThreadsToTheirCores) {
  Placement p = place(config_of({"cpu:2"}), 8);
  EXPECT_EQ(p.towers, 2);
  EXPECT_EQ(p.tower_threads, 4);
  EXPECT_EQ(p.lanes.size(), 2u);
  EXPECT_EQ(p.lanes[1].cores, (std::vector<int>{4, 5, 6, 7}));
}

TEST(Placement, ADeviceHostsSeveralTowersAtATimeWhereCoresAllow) {
  Placement p = place(config_of({"cpu"}, 4, 2), 6);
  ASSERT_EQ(p.lanes.size(), 3u);  // three lanes of two threads for four towers
  int next = 0;
  for (TowerRange range : p.lane_towers) {
    EXPECT_EQ(range.begin, next);
    next = range.end;
  }
  EXPECT_EQ(next, 4);
}

TEST(Placement, AutoTakesTheCpuAndSaysWhy) {
  EXPECT_THAT(place(config_of({"auto"}), 2).note, testing::HasSubstr("driver not found"));
}

TEST(Placement, CoresAreDescribedInRanges) {
  EXPECT_EQ(describe_cores({0, 1, 2, 5}), "4 cores: 0-2,5");
  EXPECT_EQ(describe_cores({3}), "1 core: 3");
}

TEST(Placement, KeepsTheThreadsOfTheCheckpoint) {
  EXPECT_EQ(place(config_of({"cpu"}, 1), 8, 3).tower_threads, 3);
}

TEST(Placement, Refuses) {
  expect_error(config_of({"cuda:0"}), Category::device, "cuda:0: no CUDA device: driver not found");
  expect_error(config_of({"cpu:4"}, 2), Category::config, "4 devices but only 2 towers");
  expect_error(config_of({"cpu"}, 1, 2), Category::config,
               "tower_threads: 2 but the checkpoint's run has 3");
  RunConfig config = config_of({"cpu:2"});
  config.parameter_device = "cpu:7";
  expect_error(config, Category::config, "cpu:7 is none of the run's devices (cpu:0, cpu:1)");
}

}  // namespace
}  // namespace spire
