#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/ranges.h>

#include "engine/base/crowded.h"
#include "engine/base/proc_files.h"
#include "engine/base/text.h"
#include "engine/device/device.h"
#include "tools/doctor/checks.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

Finding check_affinity(const Topology& topology) {
  auto allowed = std::ssize(topology.cores);
  Finding finding{"affinity", FindingLevel::ok,
                  fmt::format("{} of {} may be used: {}", allowed, counted(topology.online, "core"),
                              core_ranges(topology.cores))};
  finding.values = {{"cores", static_cast<double>(allowed)},
                    {"machine_cores", static_cast<double>(topology.online)}};
  if (allowed > 1 || topology.online < 4) return finding;
  return warning(
      std::move(finding),
      "what starts the trainer binds it to one core; give it more (srun --cpus-per-task, "
      "mpirun --bind-to none, taskset)");
}

Finding check_quota(const Topology& topology) {
  double quota = topology.limits.quota;
  if (quota <= 0) return {"cgroup_cpu", FindingLevel::ok, "no CPU quota"};
  Finding finding{"cgroup_cpu", FindingLevel::ok, fmt::format("a quota of {:.4g} CPUs", quota)};
  finding.values = {{"cpus", quota}};
  // Runs start no more lanes than the quota allows; a fraction of a CPU throttles every period.
  if (quota >= 1) return finding;
  return warning(std::move(finding),
                 "even one thread is paused in every period; raise the limit of the container");
}

Finding check_omp(const Topology& topology) {
  int threads = topology.limits.omp_threads;
  auto cores = static_cast<int>(topology.cores.size());
  if (threads == 0) return {"omp_num_threads", FindingLevel::ok, "not set: runs use all cores"};
  Finding finding{"omp_num_threads", FindingLevel::ok, fmt::format("OMP_NUM_THREADS={}", threads)};
  finding.values = {{"threads", static_cast<double>(threads)}};
  if (cores < 4 || 2 * threads > cores) return finding;
  return warning(
      std::move(finding),
      fmt::format("runs compute on {} of {} cores; unset OMP_NUM_THREADS, or set it to {}", threads,
                  cores, cores));
}

int node_of(const std::string& pci_bus_id, const fs::path& root) {
  std::string address = normal_pci_bus_id(pci_bus_id);
  std::ifstream file(root / "sys/bus/pci/devices" / address / "numa_node");
  int node = -1;
  return !address.empty() && file >> node ? node : -1;
}

bool may_use(const NumaNode& node, const std::vector<int>& cores) {
  return std::ranges::any_of(
      node.cores, [&](int core) { return std::ranges::find(cores, core) != cores.end(); });
}

}  // namespace

Findings check_cores(const Topology& topology) {
  return {check_affinity(topology), check_quota(topology), check_omp(topology)};
}

// Runs take all cores by default.
Finding check_load(const Topology& topology, std::optional<double> others) {
  if (!others) return {"load", FindingLevel::ok, "the system does not tell what others use"};
  auto cores = static_cast<int>(topology.cores.size());
  Finding finding{"load", FindingLevel::ok,
                  fmt::format("others use {:.1f} of {}", *others, counted(cores, "core"))};
  finding.values = {{"others_cores", *others}};
  if (!crowded(*others, cores, cores)) return finding;
  return warning(std::move(finding),
                 "runs on CPUs wait for them; top shows who it is: end or renice it, or give runs "
                 "cores of their own (taskset)");
}

Numa read_numa(const std::vector<GpuAddress>& gpus, const fs::path& root) {
  Numa numa;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "sys/devices/system/node", error)) {
    std::string name = entry.path().filename();
    std::istringstream digits(name.starts_with("node") ? name.substr(4) : "");
    NumaNode node;
    if (!(digits >> node.number)) continue;
    node.cores = read_core_list(first_line(entry.path() / "cpulist"));
    node.memory_bytes = read_meminfo(entry.path() / "meminfo")["MemTotal"];
    numa.nodes.push_back(std::move(node));
  }
  std::ranges::sort(numa.nodes, {}, &NumaNode::number);
  for (const GpuAddress& gpu : gpus) numa.gpus.push_back({gpu.name, node_of(gpu.pci_bus_id, root)});
  return numa;
}

Findings check_numa(const Numa& numa, const std::vector<int>& cores) {
  if (numa.nodes.size() < 2) return {{"numa", FindingLevel::ok, "one node"}};
  std::vector<std::string> nodes, gpus;
  for (const NumaNode& node : numa.nodes)
    nodes.push_back(fmt::format("{} (cores {}, {})", node.number, core_ranges(node.cores),
                                limit_text(node.memory_bytes)));
  for (const GpuOnNode& gpu : numa.gpus)
    if (gpu.node >= 0) gpus.push_back(fmt::format("{} on node {}", gpu.name, gpu.node));
  Findings findings = {{"numa", FindingLevel::ok,
                        fmt::format("nodes {}{}{}", fmt::join(nodes, ", "),
                                    gpus.empty() ? "" : "; ", fmt::join(gpus, ", "))}};
  for (const GpuOnNode& gpu : numa.gpus) {
    auto node = std::ranges::find(numa.nodes, gpu.node, &NumaNode::number);
    if (node == numa.nodes.end() || node->cores.empty() || may_use(*node, cores)) continue;
    findings.push_back(
        {"numa", FindingLevel::warn,
         fmt::format("{} is on node {}, of which this process may use no core", gpu.name, gpu.node),
         fmt::format("copies to it take the way over another node; start the run on cores of its "
                     "node (taskset -c {}), or choose a GPU of this process's node",
                     core_ranges(node->cores))});
  }
  return findings;
}

}  // namespace spire
