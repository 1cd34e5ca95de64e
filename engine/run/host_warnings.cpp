#include "engine/run/host_warnings.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/ranges.h>
#include <unistd.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/device/gpu_requirements.h"
#include "engine/run/machine/environment.h"
#include "engine/update/optimizer.h"
#include "kernels/cpu/onednn_version.h"

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

namespace {

bool on_gpus(const Placement& placement) {
  return placement.lanes[0].device.kind == DeviceKind::cuda;
}

// GPUs of this host that NCCL connects; 0 if all of the run's read each other's memory.
int gpus_by_nccl(const RunSetup& setup) {
  const Placement& placement = setup.placement;
  if (placement.all_are_peers()) return 0;
  std::string host = setup.ranks.host_of(setup.ranks.rank());
  std::set<std::pair<int, int>> gpus;  // rank, index
  for (const PlacedDevice& device : placement.devices)
    if (setup.ranks.host_of(device.rank) == host) gpus.emplace(device.rank, device.id.index);
  return static_cast<int>(gpus.size());
}

// GPUs of this process without machine code in this build.
std::vector<std::string> compiled_gpus(const RunSetup& setup) {
  auto versions = cuda_versions();
  std::vector<std::string> names;
  if (!versions) return names;
  for (const CudaDeviceInfo& gpu : setup.hardware().gpus) {
    bool used = std::ranges::any_of(setup.placement.lanes, [&](const LaneSpec& lane) {
      return lane.device == DeviceId{DeviceKind::cuda, gpu.index};
    });
    Version capability{gpu.compute_major, gpu.compute_minor, 0};
    // Other ranks' GPUs, and after an exchange also these, come without their capability.
    bool known = gpu.compute_major > 0;
    if (used && known && code_for(versions->architectures, capability) == GpuCode::ptx)
      names.push_back(fmt::format("cuda:{} ({})", gpu.index, gpu.name));
  }
  return names;
}

// The first rank of each host; all ranks get the same.
std::vector<int> first_of_hosts(const RankGroup& ranks) {
  std::vector<int> first;
  std::set<std::string> hosts;
  int count = ranks.group() ? ranks.group()->size() : 1;
  for (int rank = 0; rank < count; ++rank)
    if (hosts.insert(ranks.host_of(rank)).second) first.push_back(rank);
  return first;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Of this host, each a line.
std::vector<std::string> machine_texts(const RunSetup& setup, const ParameterLayout& layout,
                                       bool writes) {
  RunUse use = use_of(setup, layout, writes);
  const RankHardware& own = setup.hardware();
  Topology topology{own.allowed_cores(), own.machine_cores, own.limits};
  std::vector<std::string> texts;
  for (const Finding& finding : check_run(use, read_run_machine(use, std::move(topology)))) {
    texts.push_back(fmt::format("{}; {}", finding.seen, finding.remedy));
    std::ranges::replace(texts.back(), '\n', ' ');
  }
  return texts;
}

}  // namespace

CheckpointNeed checkpoint_need(const RunConfig& config, int64_t floats, int64_t frozen,
                               int64_t steps) {
  auto slots = static_cast<int64_t>(slot_count(config.optimizer, config.ema));
  auto bytes = static_cast<uint64_t>(floats + slots * (floats - frozen)) * sizeof(float);
  CheckpointNeed need{.bytes = bytes, .kept = config.checkpoint.keep_last + 1};
  if (int64_t every = config.checkpoint.keep_every_steps; every > 0) need.kept += steps / every;
  CheckpointStore store(std::filesystem::path(config.output) / "checkpoints", {});
  for (const CheckpointEntry& entry : store.list()) {
    std::error_code error;
    uintmax_t size = std::filesystem::file_size(entry.path, error);
    if (!error) need.there += size;
  }
  return need;
}

RunUse use_of(const RunSetup& setup, const ParameterLayout& layout, bool writes) {
  const RunConfig& config = setup.config;
  const Placement& placement = setup.placement;
  RunUse use;
  use.networked = placement.ranks > 1;
  if (on_gpus(placement)) {
    use.gpus_by_nccl = gpus_by_nccl(setup);
    use.compiled_gpus = compiled_gpus(setup);
  } else {
    int threads = 0;
    for (const LaneSpec& lane : placement.lanes) threads += lane.threads;
    use.cpu_threads = threads * setup.ranks.processes_here();
    use.widens_bf16 = config.precision == RunConfig::Precision::bf16 && !onednn_has_bf16();
  }
  use.output = config.output;
  if (!writes) return use;
  int64_t frozen = layout.model_floats() - layout.gradient_floats();
  use.checkpoints = checkpoint_need(config, layout.model_floats(), frozen, setup.total_steps());
  return use;
}

std::vector<std::string> merge_by_host(std::span<const HostWarnings> hosts) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> hosts_of;  // by text
  for (const HostWarnings& each : hosts) {
    for (const std::string& text : each.texts) {
      auto& names = hosts_of[text];
      if (names.empty()) order.push_back(text);
      names.push_back(each.host);
    }
  }
  if (hosts.size() < 2) return order;
  for (std::string& text : order)
    text = fmt::format("{}: {}", fmt::join(hosts_of[text], ", "), text);
  return order;
}

std::vector<std::string> gather_by_host(const RankGroup& ranks,
                                        const std::function<std::vector<std::string>()>& look) {
  std::vector<int> lookers = first_of_hosts(ranks);
  std::vector<std::string> texts;
  if (std::ranges::count(lookers, ranks.rank()) > 0) texts = look();
  std::vector<HostWarnings> hosts;
  if (lookers.size() == 1) {
    hosts.push_back({"", texts});
  } else {
    auto all = ranks.all_gather(fmt::format("{}", fmt::join(texts, "\n")));
    for (int rank : lookers)
      hosts.push_back({ranks.host_of(rank), lines_of(all[static_cast<size_t>(rank)])});
  }
  if (!ranks.is_first()) return {};
  return merge_by_host(hosts);
}

void warn_of_machine(const RunSetup& setup, const ParameterLayout& layout, bool writes,
                     Observer& observer) {
  auto look = [&] { return machine_texts(setup, layout, writes); };
  for (const std::string& text : gather_by_host(setup.ranks, look)) observer.on_warning(text);
}

void note_environment(const RunSetup& setup, Observer& observer) {
  if (!on_gpus(setup.placement)) return;
  Variables variables = gpu_variables(environ);
  const char* home = std::getenv("HOME");
  std::string text = environment_text(variables, nccl_files(variables, home ? home : ""));
  if (!text.empty()) observer.on_note("environment: " + text);
}

}  // namespace spire
