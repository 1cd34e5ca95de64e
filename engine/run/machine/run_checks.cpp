#include "engine/run/machine/run_checks.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

namespace spire {
namespace {

namespace fs = std::filesystem;

// A wish for few threads is common on machines with few cores; on large ones it is mostly a default
// of a launcher.
Finding check_threads(const Topology& topology) {
  int threads = topology.limits.omp_threads;
  auto cores = static_cast<int>(topology.cores.size());
  Finding finding{"omp_num_threads", FindingLevel::ok,
                  fmt::format("OMP_NUM_THREADS={} leaves {} of {} cores to others", threads,
                              cores - threads, cores)};
  if (threads == 0 || cores < 8 || 4 * threads > cores) return finding;
  return warning(std::move(finding), "unset it to compute on all of them; torchrun sets it to 1");
}

// Threads beyond the cores only take turns; threads with cores of their own are stopped by a quota.
Finding check_quota(const Topology& topology, int threads) {
  const CoreLimits& limits = topology.limits;
  int with_core = std::min(threads, static_cast<int>(topology.cores.size()));
  Finding finding{"cgroup_cpu", FindingLevel::ok,
                  fmt::format("{} threads compute, and the cgroup pays for {:.4g} CPUs", threads,
                              limits.quota)};
  if (limits.quota <= 0 || with_core <= limits.quota_threads()) return finding;
  return warning(
      std::move(finding),
      "the kernel stops all of them for a part of each period; raise the container's CPU limit, or "
      "lower the number of devices or tower_threads");
}

// Swapped pages of idle programs do no harm while there is memory.
bool short_of_memory(const SwapState& swap) {
  return swap.memory_available < swap.memory_total / 10;
}

Finding check_compiled(const std::vector<std::string>& gpus) {
  return {"architectures", FindingLevel::warn,
          fmt::format("this build has no machine code for {}, so the driver compiles its kernels",
                      fmt::join(gpus, ", ")),
          "the first start takes minutes; trainer doctor says how to build for them"};
}

}  // namespace

RunMachine read_run_machine(const RunUse& use, Topology topology, const fs::path& root) {
  RunMachine machine;
  machine.topology = std::move(topology);
  if (use.gpus_by_nccl > 0 || use.networked) machine.limits = read_process_limits(root);
  machine.swap = read_swap(root);
  if (use.checkpoints) machine.disk = space_at(existing_folder(use.output));
  return machine;
}

Findings check_run(const RunUse& use, const RunMachine& machine) {
  Findings all;
  if (use.gpus_by_nccl > 0) all.push_back(check_shm(machine.limits, use.gpus_by_nccl));
  if (use.networked) all.push_back(check_memlock(machine.limits));
  if (use.cpu_threads > 0) {
    all.push_back(check_threads(machine.topology));
    all.push_back(check_quota(machine.topology, use.cpu_threads));
  }
  if (use.widens_bf16)
    all.push_back({"precision", FindingLevel::warn,
                   "this CPU has no AVX-512, so bf16 is computed in fp32 and rounded",
                   "precision=fp32 is as fast here"});
  if (short_of_memory(machine.swap)) all.push_back(check_swap(machine.swap));
  if (use.checkpoints && machine.disk)
    all.push_back(check_disk_space(use.output, *machine.disk, use.checkpoints));
  if (!use.compiled_gpus.empty()) all.push_back(check_compiled(use.compiled_gpus));
  std::erase_if(all, [](const Finding& finding) { return finding.level == FindingLevel::ok; });
  return all;
}

}  // namespace spire
