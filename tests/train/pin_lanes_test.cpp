// Tests the number of threads of a process, and the cores that they are pinned to.
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/config/words.h"
#include "engine/train/placement/placement.h"

namespace spire {
namespace {

using Cores = std::vector<int>;

Cores first_cores(int count) {
  Cores cores(static_cast<size_t>(count));
  std::iota(cores.begin(), cores.end(), 0);
  return cores;
}

// A process on a machine of 16 cores.
RankHardware process_with(Cores cores, CoreLimits limits = {}) {
  RankHardware place{"a", std::move(cores), {}, "no driver"};
  place.machine_cores = 16;
  place.limits = limits;
  return place;
}

struct Placed {
  RankHardware place;
  Placement placement;
};

Placed placed(const RankHardware& process, int64_t towers = 1, std::optional<int64_t> threads = {},
              size_t ranks = 1, std::vector<std::string> devices = {"cpu"}) {
  RunConfig config;
  config.devices = std::move(devices);
  config.towers = towers;
  config.tower_threads = threads;
  auto places = share_out(std::vector<RankHardware>(ranks, process));
  return {places[0], place_towers(config, places, 0)};
}

// Returns a namespace of core locks for this process alone.
std::string own_space() {
  return "spire-pin-test-" + std::to_string(getpid());
}

std::string pin(const std::string& word, Placed& run, CoreLocks& locks) {
  return pin_lanes(*find_word<RunConfig::Pin>(word), run.place, run.placement, locks, own_space());
}

TEST(PinLanes, AProcessWithTheWholeMachineIsNotPinned) {
  Placed run = placed(process_with(first_cores(16)), 2, 1);
  CoreLocks locks;
  EXPECT_EQ(pin("auto", run, locks), "not pinned: the process may use the whole machine");
  for (const LaneSpec& lane : run.placement.lanes) EXPECT_EQ(lane.cores, first_cores(16));
}

TEST(PinLanes, PinsToTheCoresItWasGivenUnlessAnotherRunHasThem) {
  Placed first = placed(process_with({4, 5, 6, 7}), 2, 1), second = first;
  CoreLocks of_first, of_second;
  EXPECT_EQ(pin("auto", first, of_first), "pinned to 4-5: they were given to this process");
  EXPECT_EQ(first.placement.lanes[0].cores, Cores{4});
  EXPECT_EQ(first.placement.lanes[1].cores, Cores{5});
  EXPECT_EQ(pin("auto", second, of_second), "not pinned: another Spire process uses core 4");
  for (const LaneSpec& lane : second.placement.lanes) EXPECT_EQ(lane.cores, (Cores{4, 5, 6, 7}));
  of_first.release();
  EXPECT_EQ(pin("auto", second, of_second), "pinned to 4-5: they were given to this process");
}

TEST(PinLanes, TheThreadsOfALaneShareItsCores) {
  Placed run = placed(process_with({4, 5, 6, 7}), 2);
  CoreLocks locks;
  EXPECT_EQ(pin("auto", run, locks), "pinned to 4-7: they were given to this process");
  EXPECT_EQ(run.placement.lanes[1].cores, (Cores{6, 7}));
  EXPECT_EQ(run.placement.lanes[1].threads, 2);
}

TEST(PinLanes, TrueAndFalseDecideByThemselves) {
  Placed whole = placed(process_with(first_cores(16)), 1, 1), given = placed(process_with({4}));
  CoreLocks of_whole, of_given, neighbour;
  EXPECT_EQ(pin("true", whole, of_whole), "pinned to 0 (pin: true)");
  EXPECT_EQ(whole.placement.lanes[0].cores, Cores{0});
  EXPECT_EQ(neighbour.acquire(Cores{0}, own_space()), "another Spire process uses core 0");
  Placed again = placed(process_with(first_cores(16)), 1, 1);
  EXPECT_EQ(pin("true", again, neighbour), "pinned to 0 (pin: true)");
  EXPECT_EQ(pin("false", given, of_given), "not pinned (pin: false)");
  EXPECT_EQ(given.placement.lanes[0].cores, Cores{4});
}

// The first lanes of two processes of one run are on different cores.
TEST(PinLanes, RanksOfOneHostKeepToTheirShares) {
  auto places = share_out(std::vector<RankHardware>(2, process_with({4, 5, 6, 7})));
  RunConfig config;
  config.devices = {"cpu"};
  config.towers = 2;
  config.tower_threads = 1;
  CoreLocks locks[2];
  for (int rank : {0, 1}) {
    Placed run{places[static_cast<size_t>(rank)], place_towers(config, places, rank)};
    EXPECT_EQ(run.placement.lanes[0].cores, (rank == 0 ? Cores{4, 5} : Cores{6, 7}));
    EXPECT_EQ(run.placement.helper_cores, (Cores{4, 5, 6, 7}));
    EXPECT_THAT(pin("auto", run, locks[rank]),
                testing::StartsWith(rank ? "pinned to 6:" : "pinned to 4:"));
  }
}

TEST(CoreLimits, LeaveTheCoresAndLowerTheThreads) {
  struct Case {
    CoreLimits limits;
    int threads;
    const char* text;
  };
  for (const Case& c :
       {Case{{}, 16, "16 of 16"}, Case{{.omp_threads = 4}, 4, "4 of 16 (OMP_NUM_THREADS=4)"},
        Case{{.omp_threads = 1}, 1, "1 of 16 (OMP_NUM_THREADS=1)"},
        Case{{.omp_threads = 32}, 16, "16 of 16"},
        Case{{.quota = 2.0}, 2, "2 of 16 (cgroup quota 2.0 CPUs)"},
        Case{{.quota = 1.5, .omp_threads = 4},
             2,
             "2 of 16 (OMP_NUM_THREADS=4, cgroup quota 1.5 CPUs)"}}) {
    Placed one = placed(process_with(first_cores(16), c.limits));
    EXPECT_EQ(describe_use(one.placement, one.place), c.text);
    EXPECT_EQ(one.placement.tower_threads, c.threads);
    EXPECT_EQ(one.placement.lanes[0].cores, first_cores(16));
    Placed many = placed(process_with(first_cores(16), c.limits), 64, 1);
    EXPECT_EQ(static_cast<int>(many.placement.lanes.size()), c.threads);
  }
}

// OMP_NUM_THREADS holds for each process; a container's quota for all in it together.
TEST(CoreLimits, RanksOfOneContainerShareItsQuota) {
  EXPECT_EQ(placed(process_with(first_cores(16), {.quota = 4}), 2, {}, 2).placement.tower_threads,
            2);
  EXPECT_EQ(
      placed(process_with(first_cores(16), {.omp_threads = 4}), 2, {}, 2).placement.tower_threads,
      4);
  EXPECT_EQ(placed(process_with(first_cores(16), {.quota = 1}), 4, {}, 4).placement.lanes.size(),
            1u);
}

TEST(CoreLimits, ThreadsThatTheConfigAsksForAreKept) {
  Placed run = placed(process_with(first_cores(16), {.omp_threads = 2}), 4, 8);
  ASSERT_EQ(run.placement.lanes.size(), 1u);
  EXPECT_EQ(run.placement.lanes[0].threads, 8);
}

TEST(CoreLimits, ReachTheOtherRanksAsText) {
  CoreLimits read = read_limits(limits_to_text({.quota = 2.5, .omp_threads = 3}));
  EXPECT_EQ(read.quota, 2.5);
  EXPECT_EQ(read.omp_threads, 3);
}

// Threads that launch a GPU's kernels or read its data run on its NUMA node.
TEST(Gpus, HaveTheirThreadsNearThem) {
  RankHardware process = process_with(first_cores(16));
  for (int gpu : {0, 1}) {
    CudaDeviceInfo info;
    info.index = gpu;
    info.name = "NVIDIA Test";
    process.gpus.push_back(info);
  }
  process.near_gpu = {{0, {2, 3}}, {1, {10, 11, 40}}};
  Placed both = placed(process, 2, {}, 1, {"cuda"});
  EXPECT_EQ(both.placement.lanes[0].cores, (Cores{2, 3}));
  EXPECT_EQ(both.placement.lanes[1].cores, (Cores{10, 11}));
  EXPECT_EQ(both.placement.helper_cores, (Cores{2, 3, 10, 11}));
  EXPECT_EQ(describe_use(both.placement, both.place), "16 of 16, those near the GPUs: 2-3,10-11");
  CoreLocks locks;
  EXPECT_EQ(pin("auto", both, locks), "not pinned: the GPUs compute");
  process.near_gpu.clear();
  EXPECT_EQ(placed(process, 2, {}, 1, {"cuda"}).placement.helper_cores, first_cores(16));
}

TEST(DescribeRanks, JoinsEqualTexts) {
  EXPECT_EQ(describe_ranks({"2 of 4"}), "2 of 4");
  EXPECT_EQ(describe_ranks({"2 of 4", "2 of 4"}), "each rank 2 of 4");
  EXPECT_EQ(describe_ranks({"2 of 4", "1 of 4"}), "rank 0 2 of 4\nrank 1 1 of 4");
}

}  // namespace
}  // namespace spire
