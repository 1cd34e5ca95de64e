// Limits of the process and of memory, from facts and from files as the kernel writes them.
#include <sys/resource.h>

#include "engine/run/machine/memory_state.h"
#include "engine/run/machine/process_limits.h"
#include "tests/device/system_files.h"
#include "tests/run/machine/findings.h"

namespace spire {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(ShmCheck, MattersBetweenGpus) {
  ProcessLimits docker{.shm = FileSystemSpace{64 * mib, 64 * mib}};
  EXPECT_THAT(check_shm(docker, 0), good("shm", "64.0 MiB of 64.0 MiB in /dev/shm are free"));
  EXPECT_THAT(check_shm(docker, 1), good("shm", "64.0 MiB"));
  EXPECT_THAT(check_shm(docker, 2), warns("shm", "--shm-size=1g"));
  EXPECT_THAT(check_shm({.shm = FileSystemSpace{8 * gib, 7 * gib}}, 8), good("shm", "7.0 GiB"));
  EXPECT_THAT(check_shm({.shm = FileSystemSpace{8 * gib, mib}}, 8),
              warns("shm", "where it is full"));
  EXPECT_THAT(check_shm({}, 8), warns("shm", "there is no /dev/shm"));
  EXPECT_THAT(check_shm({}, 0), good("shm", "there is no /dev/shm"));
}

TEST(MemlockCheck, MattersWithInfiniband) {
  EXPECT_THAT(check_memlock({.memlock = 8 * mib}), good("memlock", "8.0 MiB may be locked"));
  EXPECT_THAT(check_memlock({.memlock = 8 * mib, .infiniband = true}),
              warns("memlock", "ulimit -l unlimited"));
  EXPECT_THAT(check_memlock({.memlock = RLIM_INFINITY, .infiniband = true}),
              good("memlock", "unlimited may be locked"));
}

TEST(OpenFilesCheck, WantsAThousand) {
  ProcessLimits limits{.memlock = RLIM_INFINITY, .files = 256};
  EXPECT_THAT(check_process_limits(limits, 0), Contains(warns("open_files", "ulimit -n 1024")));
  limits.files = 1024;
  EXPECT_THAT(check_process_limits(limits, 0), Contains(good("open_files", "1024 files")));
  limits.files = RLIM_INFINITY;
  EXPECT_THAT(check_process_limits(limits, 0), Contains(good("open_files", "any number")));
}

TEST(ProcessLimitsReading, LooksForAdaptersAndSharedMemory) {
  SystemFiles system;
  EXPECT_FALSE(read_process_limits(system.root()).infiniband);
  EXPECT_FALSE(read_process_limits(system.root()).shm);
  system.file("sys/class/infiniband/mlx5_0/node_type", "1: CA\n").file("dev/shm/x", "");
  ProcessLimits limits = read_process_limits(system.root());
  EXPECT_TRUE(limits.infiniband);
  EXPECT_GT(limits.shm.value().total, 0u);
  EXPECT_GT(limits.files, 0u);
}

TEST(MemoryCheck, ReadsLimitsSwapAndHugePages) {
  SystemFiles system;
  system
      .file("proc/meminfo",
            "MemTotal: 33554432 kB\nMemAvailable: 16777216 kB\nSwapTotal: 8388608 kB\n"
            "SwapFree: 5242880 kB\n")
      .file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_THAT(check_memory_state(read_memory_state(system.root())),
              ElementsAre(good("memory", "21.0 GiB are free of the machine's memory, 32.0 GiB"),
                          warns("swap", "3.0 GiB of 8.0 GiB"), good("huge_pages", "madvise")));
  system.file("proc/meminfo", "MemTotal: 2097152 kB\nMemAvailable: 524288 kB\n")
      .file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  EXPECT_THAT(check_memory_state(read_memory_state(system.root())),
              ElementsAre(warns("memory", "512.0 MiB are free"), good("swap", "no swap space"),
                          warns("huge_pages", "echo madvise")));
}

TEST(MemoryCheck, NamesTheLimitOfACgroup) {
  SystemFiles system;
  system.file("proc/meminfo", "MemTotal: 33554432 kB\nMemAvailable: 16777216 kB\n")
      .file("proc/self/cgroup", "0::/job\n")
      .file("sys/fs/cgroup/job/memory.max", std::to_string(4 * gib) + "\n");
  EXPECT_THAT(check_memory_state(read_memory_state(system.root())),
              Contains(good("memory", "4.0 GiB are free of the cgroup's memory.")));
}

}  // namespace
}  // namespace spire
