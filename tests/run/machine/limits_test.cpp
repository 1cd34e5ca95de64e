// Limits of the process and of memory, and variables of NCCL and CUDA, from facts and from files as
// the kernel writes them.
#include "engine/run/machine/limits.h"

#include <sys/resource.h>

#include "engine/run/machine/environment.h"
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

using testing::IsEmpty;
using testing::Pair;

TEST(GpuVariables, AreThoseThatSteerNcclAndCuda) {
  const char* const environment[] = {"PATH=/bin",
                                     "NCCL_SOCKET_IFNAME=eth0",
                                     "MY_NCCL_DEBUG=INFO",
                                     "CUDA_VISIBLE_DEVICES=",
                                     "NVIDIA_TF32_OVERRIDE=0",
                                     "NCCL_BROKEN",
                                     "CUDA_HOME=/usr/local/cuda",
                                     "NCCL_DEBUG=INFO=1",
                                     nullptr};
  EXPECT_THAT(gpu_variables(environment),
              ElementsAre(Pair("CUDA_VISIBLE_DEVICES", ""), Pair("NCCL_DEBUG", "INFO=1"),
                          Pair("NCCL_SOCKET_IFNAME", "eth0"), Pair("NVIDIA_TF32_OVERRIDE", "0")));
  const char* const none[] = {"PATH=/bin", nullptr};
  EXPECT_THAT(gpu_variables(none), IsEmpty());
}

TEST(NcclFiles, AreThoseThatExist) {
  SystemFiles system;
  auto files = [&](const Variables& variables, const std::string& home) {
    return nccl_files(variables, home, system.root());
  };
  EXPECT_THAT(files({}, "/home/a"), IsEmpty());
  system.file("etc/nccl.conf", "").file("home/a/.nccl.conf", "").file("srv/nccl", "");
  EXPECT_THAT(files({}, "/home/a"), ElementsAre("/etc/nccl.conf", "/home/a/.nccl.conf"));
  EXPECT_THAT(files({}, ""), ElementsAre("/etc/nccl.conf"));
  EXPECT_THAT(files({{"NCCL_CONF_FILE", "/srv/nccl"}}, "/home/a"),
              ElementsAre("/etc/nccl.conf", "/srv/nccl"));
}

TEST(EnvironmentText, IsOnePrintableLine) {
  EXPECT_EQ(environment_text({}, {}), "");
  EXPECT_EQ(environment_text({{"NCCL_DEBUG", "IN\nFO\x1b"}, {"NCCL_ALGO", "Ring"}}, {}),
            "NCCL_DEBUG=IN\\x0aFO\\x1b, NCCL_ALGO=Ring");
  EXPECT_EQ(environment_text({{"NCCL_DEBUG", "INFO"}}, {"/etc/nccl.conf"}),
            "NCCL_DEBUG=INFO; NCCL also reads /etc/nccl.conf");
  EXPECT_EQ(environment_text({}, {"/etc/nccl.conf"}), "NCCL also reads /etc/nccl.conf");
}

TEST(EnvironmentCheck, WarnsOfSettingsThatSlowRunsDown) {
  EXPECT_THAT(check_environment({}, {}), ElementsAre(good("environment", "no variable")));
  EXPECT_THAT(check_environment({{"CUDA_LAUNCH_BLOCKING", "1"}, {"NCCL_P2P_DISABLE", "0"}}, {}),
              ElementsAre(good("environment", "CUDA_LAUNCH_BLOCKING=1, NCCL_P2P_DISABLE=0"),
                          warns("environment",
                                "the host waits for each kernel; unset "
                                "CUDA_LAUNCH_BLOCKING")));
}

}  // namespace
}  // namespace spire
