#include "engine/device/topology.h"

#include <numeric>
#include <string>
#include <sys/wait.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/device/device_memory.h"
#include "tests/base/message_of.h"
#include "tests/device/system_files.h"

namespace spire {
namespace {

using Cores = std::vector<int>;

double quota_of(const SystemFiles& system) {
  return cgroup_quota(system.root());
}

TEST(Topology, HasAtLeastOneCoreAndNoMoreThanTheMachine) {
  Topology topology = discover_topology();
  ASSERT_GE(topology.cores.size(), 1u);
  EXPECT_LE(static_cast<int>(topology.cores.size()), topology.online);
}

TEST(Topology, DevicesShareAllCoresWithoutOverlap) {
  std::vector<int> cores(11);
  std::iota(cores.begin(), cores.end(), 5);
  for (int count = 1; count <= 11; ++count) {
    std::vector<int> together;
    for (int i = 0; i < count; ++i) {
      auto part = cores_of_device(cores, i, count);
      EXPECT_LE(part.size(), static_cast<size_t>(11 / count + 1));
      together.insert(together.end(), part.begin(), part.end());
    }
    EXPECT_EQ(together, cores) << count << " devices";
  }
}

TEST(Topology, MoreDevicesThanCoresShareThem) {
  EXPECT_EQ(cores_of_device({3, 4}, 5, 8), (std::vector<int>{4}));
}

TEST(CgroupQuota, OfVersion2IsTheSmallestOfAllAncestors) {
  SystemFiles system;
  system.file("proc/self/cgroup", "0::/job/step/task\n");
  EXPECT_EQ(quota_of(system), 0.0);
  system.file("sys/fs/cgroup/job/step/task/cpu.max", "max 100000\n");
  EXPECT_EQ(quota_of(system), 0.0);
  system.file("sys/fs/cgroup/job/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota_of(system), 2.5);
  system.file("sys/fs/cgroup/job/step/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota_of(system), 2.5);
  system.file("sys/fs/cgroup/job/step/task/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota_of(system), 0.5);
}

TEST(CgroupQuota, OfVersion1LiesBelowItsController) {
  for (const char* controllers : {"cpu", "cpu,cpuacct"}) {
    SystemFiles system;
    std::string mount = std::string("sys/fs/cgroup/") + controllers;
    system
        .file("proc/self/cgroup", std::string("5:memory:/box\n3:") + controllers + ":/box\n0::/\n")
        .file(mount + "/cpu.cfs_quota_us", "-1\n")
        .file(mount + "/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(quota_of(system), 0.0) << controllers;
    system.file(mount + "/box/cpu.cfs_quota_us", "300000\n")
        .file(mount + "/box/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(quota_of(system), 3.0) << controllers;
  }
}

TEST(CgroupQuota, IsNoneWhereNothingCanBeRead) {
  SystemFiles system;
  EXPECT_EQ(quota_of(system), 0.0);
  system.file("proc/self/cgroup", "rubbish").file("sys/fs/cgroup/cpu.max", "rubbish");
  EXPECT_EQ(quota_of(system), 0.0);
}

TEST(CoreLimits, AQuotaIsRoundedUpToThreads) {
  EXPECT_EQ((CoreLimits{.quota = 0.5}.quota_threads()), 1);
  EXPECT_EQ((CoreLimits{.quota = 2.0}.quota_threads()), 2);
  EXPECT_EQ((CoreLimits{.quota = 2.1}.quota_threads()), 3);
}

TEST(CoreLimits, OmpNumThreadsCountsByItsFirstNumber) {
  EXPECT_EQ(read_omp_threads("4"), 4);
  EXPECT_EQ(read_omp_threads(" 8,2,1 "), 8);
  for (const char* none : {"", "0", "-3", "many"}) EXPECT_EQ(read_omp_threads(none), 0) << none;
}

TEST(CoreList, IsReadAsTheSystemWritesIt) {
  EXPECT_EQ(read_core_list("0-2,8\n"), (Cores{0, 1, 2, 8}));
  EXPECT_EQ(read_core_list("5"), Cores{5});
  for (const char* list : {"", "0-2,8", "5", "0-1,3,5-6"})
    EXPECT_EQ(core_ranges(read_core_list(list)), list);
  for (const char* bad : {"", "x", "3-1", "-2"}) EXPECT_EQ(read_core_list(bad), Cores{}) << bad;
}

TEST(CoresNear, AreThoseOfThePciDevice) {
  SystemFiles system;
  system.file("sys/bus/pci/devices/0000:3b:00.0/local_cpulist", "16-17\n");
  EXPECT_EQ(cores_near("0000:3B:00.0", system.root()), (Cores{16, 17}));
  EXPECT_EQ(cores_near("0000:5e:00.0", system.root()), Cores{});
  EXPECT_EQ(cores_near("", system.root()), Cores{});
}

TEST(CoresNear, ArePreferredWhereTheProcessMayUseThem) {
  EXPECT_EQ(prefer_cores({0, 1, 2, 3}, {2, 3, 4}), (Cores{2, 3}));
  EXPECT_EQ(prefer_cores({0, 1}, {2, 3}), (Cores{0, 1}));
  EXPECT_EQ(prefer_cores({0, 1}, {}), (Cores{0, 1}));
}

TEST(Device, ParsesAndPrints) {
  EXPECT_EQ(parse_device("cuda:3"), (DeviceId{DeviceKind::cuda, 3}));
  EXPECT_EQ(parse_device("cpu"), (DeviceId{DeviceKind::cpu, 0}));
  EXPECT_EQ(to_string(parse_device("cpu:12")), "cpu:12");
  for (const char* bad : {"", "gpu:0", "cuda:", "cuda:x", "cuda:-1", "cpu:1x", "cpu:99999999999"})
    EXPECT_THROW(parse_device(bad), Error) << bad;
}

TEST(Buffer, IsAlignedAndZeroed) {
  Buffer buffer(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
  for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(buffer.data()[i], std::byte{0});
}

TEST(Buffer, ImpossibleSizeIsOutOfMemory) {
  EXPECT_NE(message_of(Category::out_of_memory, [] { Buffer buffer(size_t{1} << 60); }), "");
}

// Returns a space of this process alone, apart from those of other tests and runs.
std::string own_space() {
  return fmt::format("spire-test-{}", getpid());
}

TEST(CoreLocks, TheFirstKeepsACoreUntilItsRelease) {
  CoreLocks first, second;
  EXPECT_EQ(first.acquire(Cores{2, 3}, own_space()), "");
  EXPECT_EQ(second.acquire(Cores{3}, own_space()), "another Spire process uses core 3");
  EXPECT_EQ(second.acquire(Cores{4}, own_space()), "");
  first.release();
  EXPECT_EQ(second.acquire(Cores{2, 3}, own_space()), "");
}

TEST(CoreLocks, TakesAllOrNone) {
  CoreLocks first, second, third;
  ASSERT_EQ(first.acquire(Cores{1}, own_space()), "");
  EXPECT_EQ(second.acquire(Cores{0, 1}, own_space()), "another Spire process uses core 1");
  EXPECT_EQ(third.acquire(Cores{0}, own_space()), "");
}

TEST(CoreLocks, SpacesAreIndependent) {
  CoreLocks first, second;
  EXPECT_EQ(first.acquire(Cores{0}, own_space()), "");
  EXPECT_EQ(second.acquire(Cores{0}, own_space() + "-b"), "");
}

// A process that is killed leaves nothing that must be removed by hand.
TEST(CoreLocks, EndWithTheProcessThatHasThem) {
  std::string space = own_space();
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  pid_t child = fork();
  if (child == 0) {
    CoreLocks held;
    char result = held.acquire(Cores{0}, space).empty() ? 'y' : 'n';
    [[maybe_unused]] ssize_t written = write(told[1], &result, 1);
    for (;;) pause();
  }
  char result = 0;
  ASSERT_EQ(read(told[0], &result, 1), 1);
  EXPECT_EQ(result, 'y');
  CoreLocks mine;
  EXPECT_EQ(mine.acquire(Cores{0}, space), "another Spire process uses core 0");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(mine.acquire(Cores{0}, space), "");
  close(told[0]);
  close(told[1]);
}

}  // namespace
}  // namespace spire
