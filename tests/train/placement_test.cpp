#include "engine/train/placement/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

CudaDeviceInfo test_gpu(int index, const std::string& uuid = "") {
  CudaDeviceInfo gpu;
  gpu.index = index;
  gpu.name = "NVIDIA Test";
  gpu.uuid = uuid;
  gpu.total_bytes = size_t{80} << 30;
  return gpu;
}

Placement place(RunConfig config, int cores, std::optional<int> kept = {}, int gpus = 0,
                size_t ranks = 1) {
  RankHardware alone;
  for (int core = 0; core < cores; ++core) alone.cores.push_back(core);
  alone.host = "a";
  if (gpus == 0) alone.why_no_gpu = "no NVIDIA driver was found";
  for (int i = 0; i < gpus; ++i) alone.gpus.push_back(test_gpu(i));
  return place_towers(config, share_out(std::vector<RankHardware>(ranks, alone)), 0, kept);
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
  EXPECT_THAT(message_of(category, [&] { place(config, 8, 3, gpus, ranks); }),
              testing::HasSubstr(text));
}

TEST(Placement, TowersDefaultToDevicesAndThreadsToTheirCores) {
  Placement p = place(config_of({"2xcpu"}), 8);
  EXPECT_EQ(p.towers, 2);
  EXPECT_EQ(p.tower_threads, 4);
  EXPECT_EQ(p.lanes.size(), 2u);
  EXPECT_EQ(p.lane_cores[1], (std::vector<int>{4, 5, 6, 7}));
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
  EXPECT_THAT(place(config_of({"auto"}), 2).note, testing::HasSubstr("no NVIDIA driver was found"));
}

TEST(Placement, CoresAreDescribedInRanges) {
  EXPECT_EQ(describe_cores({0, 1, 2, 5}), "4 cores: 0-2,5");
  EXPECT_EQ(describe_cores({3}), "1 core: 3");
}

TEST(Placement, KeepsTheThreadsOfTheCheckpoint) {
  EXPECT_EQ(place(config_of({"cpu"}, 1), 8, 3).tower_threads, 3);
}

// There are as many towers and lanes as devices; lanes of GPUs are one thread each.
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
    EXPECT_THAT(exact_guarantee(p), testing::HasSubstr(fmt::format(
                                        "a global batch of {}, on any GPUs", p.global_batch)));
  }
  EXPECT_THAT(place(config_of({"auto"}), 8, {}, 2).note,
              testing::HasSubstr("the GPUs cuda:0 (NVIDIA Test), cuda:1 (NVIDIA Test)"));
}

TEST(Placement, OneGpuCarriesSeveralDevices) {
  Placement p = place(config_of({"cuda:1", "cuda:1"}, 4), 8, {}, 2);
  ASSERT_EQ(p.lanes.size(), 2u);
  EXPECT_EQ(p.lanes[0].device, p.lanes[1].device);
  EXPECT_EQ(p.lane_towers[1], (TowerRange{2, 4}));
}

TEST(Placement, TheHostMayUpdateTheWeightsOfGpus) {
  RunConfig config = config_of({"cuda"}, 4);
  for (const char* word : {"cpu", "cpu:0"}) {
    config.parameter_device = word;
    Placement p = place(config, 8, {}, 2);
    EXPECT_TRUE(p.updates_on_host);
    EXPECT_EQ(p.host_lanes.size(), 8u);
    EXPECT_EQ(p.parameter_device, 0);
  }
  config.parameter_device = "cpu:1";
  expect_error(config, Category::config,
               "cpu:1 is not one of the run's devices; use one of cuda:0, cuda:1", 2);
  config.parameter_device = "cpu";
  config.strategy = RunConfig::Strategy::sharded;
  expect_error(config, Category::config, "parameter_device: cpu does not fit strategy: sharded", 2);
  EXPECT_FALSE(place(config_of({"2xcpu"}), 8).updates_on_host);
}

TEST(Placement, RefusesGpus) {
  expect_error(config_of({"cuda:2"}), Category::device,
               "cuda:2: there is no such device; this machine has cuda:0 (NVIDIA Test), cuda:1 "
               "(NVIDIA Test)",
               2);
  expect_error(config_of({"cuda:0", "cpu:0"}), Category::config,
               "cuda:0 and cpu:0 are different kinds", 1);
  expect_error(config_of({"cuda"}), Category::device,
               "cuda: rank 0 (host a): no CUDA device is available: no NVIDIA driver was found", 0,
               2);
}

// Processes of a host that see the same GPUs divide them.
TEST(Placement, ProcessesShareTheGpusOut) {
  Placement p = place(config_of({"cuda"}, 4), 8, {}, 4, 2);
  ASSERT_EQ(p.devices.size(), 4u);
  EXPECT_EQ(to_string(p.devices[2].id), "cuda:2");
  EXPECT_EQ(p.devices[2].rank, 1);
  EXPECT_EQ(p.devices[2].first_lane, 0);
  EXPECT_EQ(p.lanes.size(), 2u);  // of rank 0
  EXPECT_THAT(place(config_of({"auto"}), 8, {}, 2, 2).note,
              testing::HasSubstr("the GPUs of rank 0: cuda:0 (NVIDIA Test)"));
  expect_error(config_of({"cuda:0"}), Category::device,
               "cuda:0: rank 1 (host a): this process has cuda:1 (NVIDIA Test), and other "
               "processes have the other GPUs; use devices: cuda, which gives each process its own",
               2, 2);
  expect_error(config_of({"cuda"}), Category::device,
               "host a has 1 GPU for 2 processes, and each process needs its own; start at most 1",
               1, 2);
  EXPECT_THAT(
      place(config_of({"auto"}), 8, {}, 1, 2).note,
      testing::HasSubstr("the CPU, because rank 0 (host a): host a has 1 GPU for 2 processes"));
}

// A launcher may show each process another GPU, which all call cuda:0.
TEST(Placement, ProcessesMaySeeTheirOwnGpusAlone) {
  std::vector<RankHardware> ranks(2, {"a", {0, 1}, {}, ""});
  for (size_t r = 0; r < 2; ++r) ranks[r].gpus = {test_gpu(0, "GPU-" + std::to_string(r))};
  for (const char* word : {"cuda", "cuda:0"}) {
    Placement p = place_towers(config_of({word}), share_out(ranks), 1);
    ASSERT_EQ(p.devices.size(), 2u);
    EXPECT_EQ(to_string(p.devices[1].id), "cuda:0");
    EXPECT_EQ(p.devices[1].rank, 1);
  }
}

// Hosts may have different numbers of GPUs.
TEST(Placement, HostsMayDifferInGpus) {
  std::vector<RankHardware> ranks = {{"a", {0}, {test_gpu(0), test_gpu(1)}, ""},
                                     {"b", {0}, {test_gpu(0)}, ""}};
  Placement p = place_towers(config_of({"cuda"}, 3), share_out(ranks), 1);
  ASSERT_EQ(p.devices.size(), 3u);
  EXPECT_EQ(p.towers_of(0), (TowerRange{0, 2}));
  EXPECT_EQ(p.towers_of(1), (TowerRange{2, 3}));
  EXPECT_EQ(p.lanes.size(), 1u);
}

Placement place_four(const PeerPairs& peers, RunConfig config) {
  RankHardware host{.host = "a", .cores = {0, 1}, .gpus = {}, .why_no_gpu = "", .peers = peers};
  for (int i = 0; i < 4; ++i) host.gpus.push_back(test_gpu(i));
  return place_towers(config, share_out({host}), 0);
}

std::vector<std::string> names_of(const Placement& placement, size_t member) {
  std::vector<std::string> names;
  const Share& share = placement.members[member].devices;
  for (int d = share.begin; d < share.end; ++d)
    names.push_back(to_string(placement.devices[static_cast<size_t>(d)].id));
  return names;
}

using testing::ElementsAre;

TEST(Members, ArePeersWhereAllReachEachOther) {
  PeerPairs some = {{0, 1}, {0, 2}, {1, 2}, {2, 3}};
  Placement p = place_four(some, config_of({"cuda"}, 8));
  ASSERT_EQ(p.members.size(), 4u);
  EXPECT_EQ(p.members[1].towers, (TowerRange{2, 4}));
  EXPECT_EQ(p.members[1].peers.begin, 1);
  EXPECT_EQ(p.members[1].peers.end, 2);
  EXPECT_EQ(p.exchange, "NCCL, as cuda:0 and cuda:3 have no peer access");
  p = place_four(some, config_of({"cuda:0", "cuda:1", "cuda:2"}, 8));
  ASSERT_EQ(p.members.size(), 3u);
  EXPECT_EQ(p.members[1].peers.begin, 0);
  EXPECT_EQ(p.members[1].peers.end, 3);
}

// Logical devices of a GPU are in one member, also where others lie between them in the list.
TEST(Members, AreNeighboursInTowerOrder) {
  Placement p = place_four({}, config_of({"cuda:0", "cuda:1", "cuda:0"}, 3));
  ASSERT_EQ(p.members.size(), 2u);
  EXPECT_THAT(names_of(p, 0), ElementsAre("cuda:0", "cuda:0"));
  EXPECT_EQ(p.devices[1].member, 0);
  EXPECT_EQ(p.devices[2].member, 1);
}

TEST(Members, ExchangeTheMemoryOfTheParameterDevice) {
  RunConfig config = config_of({"cuda"}, 4);
  config.parameter_device = "cuda:3";
  Placement p = place_four({}, config);
  EXPECT_EQ(p.members[3].front, 3);
  EXPECT_EQ(p.parameter_device, 3);
}

TEST(Members, AreAsTheConfigSays) {
  PeerPairs all = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  RunConfig config = config_of({"cuda"}, 4);
  EXPECT_EQ(place_four(all, config).exchange, "peer access: GPUs read each other's memory");
  config.cuda.peer = CudaConfig::Peer::nccl;
  EXPECT_EQ(place_four(all, config).members[0].peers.size(), 1);
  EXPECT_EQ(place_four(all, config).exchange, "NCCL between all GPUs (cuda.peer: nccl)");
  config.cuda.peer = CudaConfig::Peer::direct;
  EXPECT_EQ(place_four(all, config).members[0].peers.size(), 4);
  EXPECT_THAT(
      message_of(Category::device,
                 [&] {
                   place_four({{0, 1}}, config);
                 }),
      testing::HasSubstr("cuda.peer: direct, but cuda:0 and cuda:2 cannot read each "
                         "other's memory: neither NVLink nor PCIe peer access connects them"));
}

TEST(Members, AreCpusOfAProcess) {
  Placement p = place(config_of({"cuda"}, 4), 8, {}, 2, 2);
  EXPECT_EQ(p.members.size(), 2u);
  EXPECT_EQ(p.members[1].rank, 1);
  EXPECT_EQ(p.exchange, "NCCL between processes");
  EXPECT_EQ(place(config_of({"2xcpu"}), 8).members.size(), 1u);
  EXPECT_EQ(place(config_of({"2xcpu"}), 8).exchange, "");
}

TEST(RankHardwareText, CarriesTheGpusToOtherRanks) {
  RankHardware some{.host = "a",
                    .cores = {0},
                    .gpus = {test_gpu(3, "GPU-12"), test_gpu(4)},
                    .why_no_gpu = "",
                    .peers = {{3, 4}}},
      none{"a", {0}, {}, "no driver"};
  RankHardware read;
  read_gpus(gpus_to_text(some), read);
  ASSERT_EQ(read.gpus.size(), 2u);
  EXPECT_EQ(read.gpus[0].index, 3);
  EXPECT_EQ(read.gpus[0].uuid, "GPU-12");
  EXPECT_EQ(read.gpus[0].name, "NVIDIA Test");
  EXPECT_EQ(read.gpus[1].uuid, "");
  EXPECT_EQ(read.gpus[1].total_bytes, size_t{80} << 30);
  EXPECT_EQ(read.peers, some.peers);
  read_gpus(gpus_to_text(none), read);
  EXPECT_TRUE(read.gpus.empty());
  EXPECT_EQ(read.why_no_gpu, "no driver");
}

TEST(ShareOut, DividesTheCoresOfEachHostAlone) {
  auto ranks = share_out({{"a", {0, 1}, {}, ""}, {"b", {0, 1}, {}, ""}, {"a", {0, 1}, {}, ""}});
  EXPECT_EQ(ranks[0].cores, (std::vector<int>{0}));
  EXPECT_EQ(ranks[1].cores, (std::vector<int>{0, 1}));
  EXPECT_EQ(ranks[2].cores, (std::vector<int>{1}));
}

TEST(Placement, Refuses) {
  expect_error(config_of({"cuda:0"}), Category::device,
               "cuda:0: no CUDA device is available: no NVIDIA driver was found");
  expect_error(config_of({"4xcpu"}, 2), Category::config, "4 devices but only 2 towers");
  expect_error(config_of({"cpu"}, 1, 2), Category::config,
               "tower_threads: 2, but the run of the checkpoint has 3");
  RunConfig config = config_of({"2xcpu"});
  config.parameter_device = "cpu:7";
  expect_error(config, Category::config,
               "cpu:7 is not one of the run's devices; use one of cpu:0, cpu:1");
}

// shares: of each device, the number of its towers and of its lanes.
std::string text_of(const std::vector<std::pair<int, int>>& shares) {
  Placement placement;
  placement.towers = 0;
  for (auto [towers, lanes] : shares) {
    PlacedDevice device;
    device.towers = {placement.towers, placement.towers + towers};
    device.lanes = lanes;
    placement.towers += towers;
    placement.devices.push_back(device);
  }
  return accumulation_text(placement);
}

TEST(Accumulation, IsWhereADeviceRunsTowersOneAfterAnother) {
  EXPECT_EQ(text_of({{2, 1}, {2, 1}}),
            "4 towers on 2 devices: each device runs 2 towers one after another, which is gradient "
            "accumulation over 2");
  EXPECT_EQ(text_of({{4, 1}}),
            "4 towers on 1 device: it runs 4 towers one after another, which is gradient "
            "accumulation over 4");
  EXPECT_EQ(text_of({{2, 1}, {1, 1}}),
            "3 towers on 2 devices: each device runs up to 2 towers one after another, which is "
            "gradient accumulation over 2");
  EXPECT_EQ(text_of({{8, 2}}),
            "8 towers on 1 device: it runs 8 towers, 2 at a time, which is "
            "gradient accumulation over 4");
}

TEST(Accumulation, IsNotWhereLanesRunAllTowersAtOnce) {
  EXPECT_EQ(text_of({{1, 1}, {1, 1}}), "");
  EXPECT_EQ(text_of({{4, 4}}), "");
}

}  // namespace
}  // namespace spire
