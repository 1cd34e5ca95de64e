#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spire/base/error.h>
#include <spire/train/placement.h>

namespace spire {
namespace {

Placement place(RunConfig config, int cores, std::optional<int> kept = {}, int gpus = 0,
                size_t ranks = 1) {
  RankPlace alone;
  for (int core = 0; core < cores; ++core) alone.cores.push_back(core);
  CudaStatus cuda;
  if (gpus == 0) cuda.why_none = "driver not found";
  for (int i = 0; i < gpus; ++i) {
    CudaDeviceInfo& gpu = cuda.devices.emplace_back();
    gpu.index = i;
    gpu.name = "NVIDIA Test";
    gpu.total_bytes = size_t{80} << 30;
  }
  return place_towers(config, std::vector<RankPlace>(ranks, alone), 0, cuda, kept);
}

RunConfig config_of(std::vector<std::string> devices, std::optional<int64_t> towers = {},
                    std::optional<int64_t> threads = {}) {
  RunConfig config;
  config.devices = std::move(devices);
  config.towers = towers;
  config.tower_threads = threads;
  return config;
}

void expect_error(const RunConfig& config, Category category, const std::string& text, int gpus = 0,
                  size_t ranks = 1) {
  try {
    place(config, 8, 3, gpus, ranks);
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

// As many towers and lanes as devices; lanes of GPUs are one thread each.
TEST(Placement, CudaIsAllGpusAndSoIsAuto) {
  for (const char* word : {"cuda", "auto"}) {
    Placement p = place(config_of({word}), 8, {}, 3);
    ASSERT_EQ(p.devices.size(), 3u);
    EXPECT_EQ(to_string(p.devices[2].id), "cuda:2");
    EXPECT_EQ(p.devices[2].description, "NVIDIA Test, 80.0 GiB");
    EXPECT_EQ(p.towers, 3);
    ASSERT_EQ(p.lanes.size(), 3u);
    EXPECT_EQ(p.lanes[0].threads, 1);
    EXPECT_EQ(p.tower_threads, 1);
    EXPECT_THAT(guarantee(p), testing::HasSubstr("GPUs of this kind up to 3"));
  }
  EXPECT_THAT(place(config_of({"auto"}), 8, {}, 2).note,
              testing::HasSubstr("the GPUs: cuda:0 (NVIDIA Test), cuda:1 (NVIDIA Test)"));
}

TEST(Placement, OneGpuCarriesSeveralDevices) {
  Placement p = place(config_of({"cuda:1", "cuda:1"}, 4), 8, {}, 2);
  ASSERT_EQ(p.lanes.size(), 2u);
  EXPECT_EQ(p.lanes[0].device, p.lanes[1].device);
  EXPECT_EQ(p.lane_towers[1], (TowerRange{2, 4}));
}

TEST(Placement, RefusesGpus) {
  expect_error(config_of({"cuda:2"}), Category::device,
               "cuda:2: this machine has only cuda:0 (NVIDIA Test), cuda:1 (NVIDIA Test)", 2);
  expect_error(config_of({"cuda:0", "cpu:0"}), Category::config,
               "cuda:0 and cpu:0 are of two kinds", 1);
  expect_error(config_of({"cuda:0"}), Category::device,
               "runs of several processes do not use GPUs yet; start one process", 1, 2);
  EXPECT_THAT(place(config_of({"auto"}), 8, {}, 1, 2).note, testing::HasSubstr("the CPU: runs of"));
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
