// Tests the tightest memory limit, with files as the kernel writes them.
#include <cstdint>
#include <sys/resource.h>
#include <sys/wait.h>

#include <gmock/gmock.h>
#include <unistd.h>

#include "engine/device/device_memory.h"
#include "engine/device/topology.h"
#include "tests/device/system_files.h"

namespace spire {
namespace {

using testing::HasSubstr;

constexpr size_t mib = size_t{1} << 20;

std::string bytes(size_t count) {
  return std::to_string(count * mib) + "\n";
}

// A machine of 1000 MiB of which 700 are free, and 100 of swap space.
class HostMemory : public testing::Test {
 protected:
  HostMemory() {
    system
        .file("proc/meminfo",
              "MemTotal:  1024000 kB\nMemFree: 1 kB\nMemAvailable:  716800 kB\n"
              "SwapTotal: 204800 kB\nSwapFree: 102400 kB\n")
        .file("proc/self/status", "Name:\ttest\nVmSize:\t  204800 kB\nVmData:\t 51200 kB\n");
  }
  void expect(size_t free, size_t total, const std::string& by) {
    HostSpace space = host_space(system.root());
    EXPECT_EQ(space.free, free * mib);
    EXPECT_EQ(space.total, total * mib);
    EXPECT_THAT(space.limited_by, HasSubstr(by));
  }
  SystemFiles system;
};

TEST_F(HostMemory, WithoutLimitsIsThatOfTheMachine) {
  expect(800, 1000, "the machine's memory, 1000.0 MiB");
  system.file("proc/self/cgroup", "0::/job\n").file("sys/fs/cgroup/job/memory.max", "max\n");
  system.file("proc/self/limits",
              "Limit                     Soft Limit           Hard Limit           Units\n"
              "Max data size             unlimited            unlimited            bytes\n"
              "Max address space         unlimited            unlimited            bytes\n");
  expect(800, 1000, "the machine's memory");
}

TEST_F(HostMemory, OfVersion2IsTheSmallestOfAllAncestors) {
  system.file("proc/self/cgroup", "0::/job/step/task\n")
      .file("sys/fs/cgroup/job/memory.max", bytes(500))
      .file("sys/fs/cgroup/job/memory.current", bytes(120))
      .file("sys/fs/cgroup/job/memory.stat",
            "anon 1\nactive_file " + bytes(15) + "inactive_file " + bytes(5) + "file 9\n");
  expect(400, 500, "/job/memory.max), 500.0 MiB");
  system.file("sys/fs/cgroup/job/step/memory.high", bytes(300))
      .file("sys/fs/cgroup/job/step/memory.current", bytes(350));
  expect(0, 300, "the cgroup's memory.high (");
  system.file("sys/fs/cgroup/job/step/memory.current", bytes(10))
      .file("sys/fs/cgroup/job/step/task/memory.max", bytes(200));
  expect(200, 200, "/job/step/task/memory.max), 200.0 MiB");
}

TEST_F(HostMemory, OfAContainerIsThatOfItsTopGroup) {
  system.file("proc/self/cgroup", "0::/../pods/pod1/box\n")
      .file("sys/fs/cgroup/memory.max", bytes(64));
  expect(64, 64, "memory.max");
}

TEST_F(HostMemory, OfVersion1LiesBelowItsController) {
  system.file("proc/self/cgroup", "9:name=systemd:/x\n5:memory:/box\n3:cpu,cpuacct:/\n0::/\n")
      .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
      .file("sys/fs/cgroup/memory/box/memory.limit_in_bytes", bytes(256))
      .file("sys/fs/cgroup/memory/box/memory.usage_in_bytes", bytes(100))
      .file("sys/fs/cgroup/memory/box/memory.stat",
            "inactive_file 1\ntotal_inactive_file " + bytes(40));
  expect(196, 256, "/memory/box/memory.limit_in_bytes), 256.0 MiB");
}

// 128 MiB are for generated code and libraries.
TEST_F(HostMemory, OfUlimitsIsWhatTheProcessHasNotUsed) {
  std::string rest = std::to_string(600 * mib) + "            unlimited            bytes\n";
  system.file("proc/self/limits", "Max data size             " + rest);
  expect(550 - 128, 600, "ulimit -d, 600.0 MiB");
  system.file("proc/self/limits",
              "Max data size             " + rest + "Max address space         " + rest);
  expect(400 - 128, 600, "ulimit -v, 600.0 MiB");
}

TEST_F(HostMemory, FilesThatCannotBeReadLimitNothing) {
  system.file("proc/self/cgroup", "rubbish").file("sys/fs/cgroup/memory.max", "rubbish");
  expect(800, 1000, "the machine's memory");
  SystemFiles nothing;
  EXPECT_GT(host_space(nothing.root()).free, 0u);
}

// The real files, in a process of its own with a real limit.
TEST(HostLimits, OfThisProcessEqualThoseOfAPlan) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer needs terabytes of addresses";
#endif
  for (int which : {RLIMIT_AS, RLIMIT_DATA}) {
    pid_t child = ::fork();
    if (child == 0) {
      rlimit limit{2048 * mib, 2048 * mib};
      ::setrlimit(which, &limit);
      DeviceSpace space = space_of(DeviceId{});
      bool good = space.total <= 2048 * mib && space.free && *space.free < 2048 * mib;
      ::_exit(good ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << which;
  }
}

}  // namespace
}  // namespace spire
