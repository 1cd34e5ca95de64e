// The short form warns of what matters for the run at hand, and else says nothing.
#include <numeric>
#include <sys/resource.h>

#include "engine/run/host_warnings.h"
#include "tests/device/system_files.h"
#include "tests/run/machine/findings.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RunChecks : public testing::Test {
 protected:
  RunChecks() {
    machine.topology.cores.resize(32);
    std::iota(machine.topology.cores.begin(), machine.topology.cores.end(), 0);
    machine.topology.online = 32;
    machine.limits = {.shm = FileSystemSpace{64 * mib, 64 * mib},
                      .memlock = 8 * mib,
                      .files = 64,
                      .infiniband = true};
    machine.swap = {.memory_total = 64 * gib, .memory_available = 32 * gib};
    machine.disk = FileSystemSpace{100 * gib, 50 * gib};
    use.output = "runs/a";
  }
  Findings found() const { return check_run(use, machine); }

  RunMachine machine;
  RunUse use;
};

TEST_F(RunChecks, ARunOnCpusNeedsNoSharedOrLockedMemory) {
  use.cpu_threads = 32;
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(RunChecks, GpusThatExchangeByNcclDo) {
  use.gpus_by_nccl = 2;
  use.networked = true;
  EXPECT_THAT(found(), ElementsAre(warns("shm", "--shm-size=1g"), warns("memlock", "ulimit -l")));
  machine.limits.shm = FileSystemSpace{gib, gib};
  machine.limits.memlock = RLIM_INFINITY;
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(RunChecks, OneThreadOfManyIsTold) {
  use.cpu_threads = 1;
  machine.topology.limits.omp_threads = 1;
  EXPECT_THAT(found(), ElementsAre(warns("omp_num_threads", "leaves 31 of 32 cores to others")));
  use.cpu_threads = 0;  // on GPUs
  EXPECT_THAT(found(), IsEmpty());
  use.cpu_threads = 1;
  machine.topology.limits.omp_threads = 16;
  EXPECT_THAT(found(), IsEmpty());
  machine.topology.limits.omp_threads = 1;
  machine.topology.cores.resize(4);  // a wish
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(RunChecks, AQuotaBelowTheThreadsIsTold) {
  use.cpu_threads = 8;
  machine.topology.limits.quota = 4;
  EXPECT_THAT(found(), ElementsAre(warns("cgroup_cpu",
                                         "8 threads compute, and the cgroup pays for "
                                         "4 CPUs")));
  machine.topology.limits.quota = 7.5;
  EXPECT_THAT(found(), IsEmpty());
  machine.topology.limits.quota = 2;
  machine.topology.cores.resize(2);  // more threads than cores, which the start block shows
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(RunChecks, SwapIsToldWhereMemoryIsShort) {
  machine.swap.total = 8 * gib;
  machine.swap.used = 4 * gib;
  EXPECT_THAT(found(), IsEmpty());
  machine.swap.memory_available = 5 * gib;
  EXPECT_THAT(found(), ElementsAre(warns("swap", "4.0 GiB of 8.0 GiB")));
}

TEST_F(RunChecks, ADiskWithoutRoomForCheckpointsIsTold) {
  use.checkpoints = CheckpointNeed{10 * gib, 4};
  EXPECT_THAT(found(), IsEmpty());
  machine.disk->free = 49 * gib;
  EXPECT_THAT(found(), ElementsAre(warns("disk_space",
                                         "49.0 GiB of 100.0 GiB are free for runs/a; "
                                         "a checkpoint takes 10.0 GiB")));
  machine.disk->free = 9 * gib;
  EXPECT_THAT(found(), ElementsAre(fails("disk_space", "checkpoint.keep_last")));
  use.checkpoints.reset();  // a dry run
  EXPECT_THAT(found(), IsEmpty());
}

// A resumed run replaces its checkpoints: it needs room for one more.
TEST_F(RunChecks, CheckpointsThatAreThereTakeNoMoreRoom) {
  use.checkpoints = CheckpointNeed{.bytes = 10 * gib, .kept = 4, .there = 40 * gib};
  machine.disk->free = 10 * gib;
  EXPECT_THAT(found(), IsEmpty());
  machine.disk->free = 9 * gib;
  EXPECT_THAT(found(), ElementsAre(fails("disk_space", "5 of them 50.0 GiB, 40.0 GiB are there")));
  use.checkpoints->there = 20 * gib;
  machine.disk->free = 29 * gib;
  EXPECT_THAT(found(), ElementsAre(warns("disk_space", "20.0 GiB are there")));
}

TEST_F(RunChecks, GpusWithoutMachineCodeAreTold) {
  use.compiled_gpus = {"cuda:0 (B200)"};
  EXPECT_THAT(found(), ElementsAre(warns("architectures", "no machine code for cuda:0 (B200)")));
}

TEST_F(RunChecks, Bf16ThatACpuLacksIsTold) {
  use.widens_bf16 = true;
  EXPECT_THAT(found(), ElementsAre(warns("precision", "precision=fp32")));
}

TEST_F(RunChecks, OnlyFactsThatMatterAreRead) {
  SystemFiles system;
  system.file("proc/meminfo", "MemTotal: 2048 kB\nMemAvailable: 1024 kB\nSwapTotal: 8 kB\n")
      .file("dev/shm/x", "");
  use.output = system.root() / "not" / "yet";
  RunMachine read = read_run_machine(use, machine.topology, system.root());
  EXPECT_EQ(read.swap.memory_total, 2 * mib);
  EXPECT_EQ(read.swap.used, 8u << 10);
  EXPECT_EQ(read.topology.online, 32);
  EXPECT_FALSE(read.limits.shm);
  EXPECT_FALSE(read.disk);
  use.gpus_by_nccl = 2;
  use.checkpoints = CheckpointNeed{1, 1};
  read = read_run_machine(use, machine.topology, system.root());
  EXPECT_TRUE(read.limits.shm);
  EXPECT_TRUE(read.disk);
}

}  // namespace
}  // namespace spire
