// The cores that runs may use, and what the processor computes with.
#include <numeric>

#include "tests/device/system_files.h"
#include "tests/run/machine/findings.h"
#include "tools/doctor/checks.h"

namespace spire {
namespace {

using testing::ElementsAre;

Topology machine(int allowed, int online, CoreLimits limits = {}) {
  Topology topology{
      .cores = std::vector<int>(static_cast<size_t>(allowed)), .online = online, .limits = limits};
  std::iota(topology.cores.begin(), topology.cores.end(), 0);
  return topology;
}

TEST(CoresCheck, IsGoodWithAllCores) {
  EXPECT_THAT(check_cores(machine(8, 8)),
              ElementsAre(good("affinity", "8 of 8 cores may be used: 0-7"),
                          good("cgroup_cpu", "no CPU quota"), good("omp_num_threads", "not set")));
}

TEST(CoresCheck, WarnsOfOneCoreOfMany) {
  EXPECT_THAT(check_cores(machine(1, 32))[0], warns("affinity", "mpirun --bind-to none"));
  EXPECT_THAT(check_cores(machine(4, 32))[0], good("affinity", "4 of 32 cores"));
  EXPECT_THAT(check_cores(machine(1, 2))[0], good("affinity", "1 of 2 cores"));
}

TEST(CoresCheck, WarnsOfAQuotaBelowOneCpu) {
  EXPECT_THAT(check_cores(machine(8, 8, {.quota = 0.5}))[1], warns("cgroup_cpu", "0.5 CPUs"));
  EXPECT_THAT(check_cores(machine(8, 8, {.quota = 2.5}))[1], good("cgroup_cpu", "2.5 CPUs"));
}

TEST(CoresCheck, WarnsOfFewThreads) {
  EXPECT_THAT(check_cores(machine(32, 32, {.omp_threads = 1}))[2],
              warns("omp_num_threads", "runs compute on 1 of 32 cores"));
  EXPECT_THAT(check_cores(machine(8, 8, {.omp_threads = 6}))[2], good("omp_num_threads", "=6"));
  EXPECT_THAT(check_cores(machine(2, 2, {.omp_threads = 1}))[2], good("omp_num_threads", "=1"));
}

TEST(CoresCheck, WarnsOfOthersOnTheCores) {
  EXPECT_THAT(check_load(machine(2, 2), 1.6), warns("load", "others use 1.6 of 2 cores; runs on"));
  EXPECT_THAT(check_load(machine(8, 8), 0.8), warns("load", "others use 0.8 of 8 cores"));
  EXPECT_THAT(check_load(machine(8, 8), 0.7), good("load", "others use 0.7 of 8 cores"));
  EXPECT_THAT(check_load(machine(8, 8), std::nullopt), good("load", "does not tell"));
}

class NumaCheck : public testing::Test {
 protected:
  NumaCheck() {
    const std::string nodes = "sys/devices/system/node/", bus = "sys/bus/pci/devices/";
    system.file(nodes + "online", "0-1\n")
        .file(nodes + "node0/cpulist", "0-3\n")
        .file(nodes + "node0/meminfo", "Node 0 MemTotal:  1048576 kB\nNode 0 MemFree: 1 kB\n")
        .file(nodes + "node1/cpulist", "4-7\n")
        .file(nodes + "node1/meminfo", "Node 1 MemTotal:  2097152 kB\n")
        .file(bus + "0000:3b:00.0/numa_node", "1\n")
        .file(bus + "0000:18:00.0/numa_node", "-1\n");
    numa = read_numa({{"cuda:0", "00000000:3B:00.0"}, {"cuda:1", "0000:18:00.0"}, {"cuda:2", ""}},
                     system.root());
  }
  SystemFiles system;
  Numa numa;
};

TEST_F(NumaCheck, TellsNodesAndTheirGpus) {
  EXPECT_THAT(check_numa(numa, {0, 1, 4}),
              ElementsAre(good("numa",
                               "nodes 0 (cores 0-3, 1.0 GiB), 1 (cores 4-7, 2.0 GiB); "
                               "cuda:0 on node 1")));
}

TEST_F(NumaCheck, WarnsOfAGpuWithoutNearCores) {
  EXPECT_THAT(check_numa(numa, {0, 1, 2, 3}),
              ElementsAre(good("numa", "nodes 0"),
                          warns("numa",
                                "cuda:0 is on node 1, of which this process may use no core; "
                                "copies to it take the way over another node; start the run "
                                "on cores of its node (taskset -c 4-7)")));
}

TEST_F(NumaCheck, HasNothingToSayOfOneNode) {
  numa.nodes.pop_back();
  EXPECT_THAT(check_numa(numa, {0}), ElementsAre(good("numa", "one node")));
}

Processor with(std::set<std::string> flags, const std::string& vendor = "GenuineIntel") {
  return {.name = "Xeon", .vendor = vendor, .flags = std::move(flags)};
}

Finding finding(const Processor& processor, size_t number,
                const std::vector<CudaDeviceInfo>& gpus = {}) {
  return check_processor(processor, gpus)[number];
}

TEST(ProcessorCheck, ReadsTheKernelsFiles) {
  SystemFiles system;
  system
      .file("proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R)\n"
            "flags\t\t: fpu avx2 avx512f avx512_bf16 amx_bf16 amx_tile\n")
      .file("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
      .file("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil\n");
  EXPECT_THAT(check_processor(read_processor(system.root()), {}),
              ElementsAre(good("instructions", "Intel(R) Xeon(R): AVX2, AVX-512, BF16, AMX"),
                          good("precision", "bf16 is the fastest here: AMX"),
                          good("governor", "schedutil"), good("clock_source", "tsc")));
  EXPECT_THAT(
      check_processor(read_processor(system.root() / "nowhere"), {}),
      ElementsAre(good("instructions", "none"), good("precision", "fp32"),
                  good("governor", "does not tell"), good("clock_source", "does not tell")));
}

TEST(ProcessorCheck, WarnsWithoutAvx2) {
  EXPECT_THAT(finding(with({"sse4_2"}), 0), warns("instructions", "CPU model host"));
  EXPECT_THAT(finding(with({"asimd", "sve"}, ""), 0), good("instructions", "NEON, SVE"));
}

TEST(ProcessorCheck, SaysWhichPrecision) {
  EXPECT_THAT(finding(with({"avx2"}), 1), good("precision", "fp32 suits"));
  EXPECT_THAT(finding(with({"avx2", "avx512f"}), 1), good("precision", "trainer bench"));
  CudaDeviceInfo old, older, recent;
  old.compute_major = 7;
  older.compute_major = 6;
  recent.compute_major = 9;
  EXPECT_THAT(finding(with({"avx2"}), 1, {recent}), good("precision", "bf16 is the fastest"));
  EXPECT_THAT(finding(with({"avx2"}), 1, {recent, old}), good("precision", "precision: fp16"));
  EXPECT_THAT(finding(with({"avx2"}), 1, {older}), good("precision", "precision: fp32"));
}

TEST(ProcessorCheck, WarnsOfSlowClocks) {
  Processor processor = with({"avx2"});
  processor.governor = "powersave";
  processor.frequency_driver = "acpi-cpufreq";
  processor.clock_source = "hpet";
  EXPECT_THAT(finding(processor, 2), warns("governor", "cpupower"));
  EXPECT_THAT(finding(processor, 3), warns("clock_source", "tsc"));
  processor.frequency_driver = "intel_pstate";
  EXPECT_THAT(finding(processor, 2), good("governor", "powersave"));
}

}  // namespace
}  // namespace spire
