#include "engine/train/placement/rank_hardware.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <fmt/ranges.h>

#include "engine/base/system.h"
#include "engine/base/text.h"
#include "engine/config/devices.h"
#include "engine/device/nvml/gpu_monitor.h"
#include "engine/device/visible_gpus.h"
#include "engine/process/socket.h"
#include "engine/update/tree.h"

namespace spire {
namespace {

// The number of a rank among the ranks that see the same cores, GPUs or host, and their count.
struct Turn {
  int index = 0, of = 0;
};
template <typename Same>
Turn turn_of(size_t rank, size_t ranks, const Same& same) {
  Turn turn;
  for (size_t other = 0; other < ranks; ++other) {
    if (!same(rank, other)) continue;
    turn.index += other < rank;
    ++turn.of;
  }
  return turn;
}

bool same_gpus(const RankHardware& a, const RankHardware& b) {
  auto same = [](const CudaDeviceInfo& x, const CudaDeviceInfo& y) {
    return x.index == y.index && x.uuid == y.uuid;
  };
  return a.host == b.host &&
         std::equal(a.gpus.begin(), a.gpus.end(), b.gpus.begin(), b.gpus.end(), same);
}

// Keeps this rank's part of the GPUs, or says why it has none.
void take_turn(RankHardware& hardware, Turn turn) {
  auto all = static_cast<int>(hardware.gpus.size());
  if (all == 0) return;
  TowerRange own = towers_of_lane(all, turn.index, turn.of);
  hardware.gpus = {hardware.gpus.begin() + own.begin, hardware.gpus.begin() + own.end};
  if (own.size() > 0) return;
  hardware.why_no_gpu =
      fmt::format("host {} has {} for {}, and each process needs its own; start at most {} there",
                  hardware.host, counted(all, "GPU"), counted(turn.of, "process"), all);
}

int spare_by(const SharedGpus& shared) {
  return shared.count - static_cast<int>(shared.ranks.size());
}

std::vector<SharedGpus> shared_gpus(const std::vector<RankHardware>& ranks) {
  std::vector<SharedGpus> hosts;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    auto host = std::ranges::find_if(hosts, [&](const SharedGpus& other) {
      return same_gpus(ranks[other.ranks[0]], ranks[rank]);
    });
    if (host == hosts.end())
      host = hosts.insert(host, {{}, static_cast<int>(ranks[rank].gpus.size()), false});
    host->ranks.push_back(rank);
  }
  return hosts;
}

void keep_least_loaded(const SharedGpus& host, std::vector<RankHardware>& ranks) {
  RankHardware& first = ranks[host.ranks[0]];
  std::vector<int> kept = by_load(first);
  first.spare = static_cast<int>(kept.size()) - host.count;
  kept.resize(static_cast<size_t>(host.count));
  for (size_t rank : host.ranks)
    std::erase_if(ranks[rank].gpus, [&](const CudaDeviceInfo& gpu) {
      return std::ranges::find(kept, gpu.index) == kept.end();
    });
}

// Says which entry of CUDA_VISIBLE_DEVICES CUDA ignores, if any.
void check_visible_gpus(RankHardware& hardware) {
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!list) return;
  std::string warning =
      visible_gpus(std::string(list), gpus_counted_by_cuda(GpuMonitor().gpus())).warning;
  if (!warning.empty()) hardware.warnings.push_back(std::move(warning));
}

// A quota that ranks share leaves each at least one thread.
int threads_of(const RankHardware& given, const std::vector<int>& share, Turn turn) {
  auto threads = static_cast<int>(share.size());
  if (given.limits.omp_threads > 0) threads = std::min(threads, given.limits.omp_threads);
  if (given.limits.quota <= 0) return threads;
  TowerRange own = towers_of_lane(given.limits.quota_threads(), turn.index, turn.of);
  return std::clamp(own.size(), 1, threads);
}

}  // namespace

std::vector<int> RankHardware::cores_near(DeviceId gpu) const {
  auto near = near_gpu.find(gpu.index);
  return prefer_cores(allowed_cores(), near == near_gpu.end() ? std::vector<int>{} : near->second);
}

RankHardware local_hardware() {
  Topology topology = discover_topology();
  CudaStatus cuda = discover_cuda();
  RankHardware hardware{host_name(), topology.cores, cuda.devices, cuda.why_none};
  if (cuda.built) check_visible_gpus(hardware);
  for (const CudaDeviceInfo& gpu : cuda.devices)
    hardware.near_gpu[gpu.index] = spire::cores_near(gpu.pci_bus_id);
  hardware.peers = find_peers(cuda.devices);
  hardware.machine_cores = topology.online;
  hardware.limits = topology.limits;
  return share_out({hardware})[0];
}

std::vector<RankHardware> share_out(std::vector<RankHardware> ranks) {
  const std::vector<RankHardware> given = ranks;
  for (size_t r = 0; r < given.size(); ++r) {
    Turn cores = turn_of(r, given.size(), [&](size_t a, size_t b) {
      return given[a].host == given[b].host && given[a].cores == given[b].cores;
    });
    // A quota is the host's, even where ranks see different cores.
    ranks[r].all_cores = given[r].allowed_cores();
    ranks[r].cores = cores_of_device(given[r].cores, cores.index, cores.of);
    Turn quota = turn_of(r, given.size(),
                         [&](size_t a, size_t b) { return given[a].host == given[b].host; });
    ranks[r].threads = threads_of(given[r], ranks[r].cores, quota);
    take_turn(ranks[r], turn_of(r, given.size(),
                                [&](size_t a, size_t b) { return same_gpus(given[a], given[b]); }));
  }
  return ranks;
}

std::vector<int> by_load(const RankHardware& hardware) {
  std::vector<int> indices;
  for (const CudaDeviceInfo& gpu : hardware.gpus) indices.push_back(gpu.index);
  std::ranges::stable_sort(indices, is_less_loaded, [&](int index) {
    auto use = hardware.use.find(index);
    return use == hardware.use.end() ? GpuUse{} : use->second;
  });
  return indices;
}

std::vector<SharedGpus> kept_gpus(const RunConfig& config, const std::vector<RankHardware>& ranks) {
  std::string word = expand_devices(config.devices)[0];
  auto group = gpu_group(word);
  bool all = word == "auto" || (group && !group->count);
  if (!all || !config.towers) return {};
  std::vector<SharedGpus> hosts = shared_gpus(ranks);
  int64_t total = 0;
  for (const SharedGpus& host : hosts) total += host.count;
  bool gives_up_some = false;
  for (; total > *config.towers; --total) {
    auto host = std::ranges::max_element(hosts, {}, spare_by);
    if (spare_by(*host) <= 0) break;
    --host->count;
    gives_up_some = host->gives_up_some = true;
  }
  return gives_up_some ? hosts : std::vector<SharedGpus>();
}

void leave_spare_gpus(const RunConfig& config, std::vector<RankHardware>& ranks) {
  for (const SharedGpus& host : kept_gpus(config, ranks)) keep_least_loaded(host, ranks);
}

std::string limits_to_text(const CoreLimits& limits) {
  return fmt::format("{} {}", limits.quota, limits.omp_threads);
}

CoreLimits read_limits(const std::string& line) {
  CoreLimits limits;
  std::istringstream words(line);
  words >> limits.quota >> limits.omp_threads;
  return limits;
}

// The reason for no GPU, the pairs of peers, then a line a GPU. The name comes last: it has blanks.
std::string gpus_to_text(const RankHardware& hardware) {
  std::string text = printable(hardware.why_no_gpu) + "\n";
  for (auto [a, b] : hardware.peers) text += fmt::format("{} {} ", a, b);
  text += "\n";
  for (const auto& gpu : hardware.gpus) {
    auto found = hardware.use.find(gpu.index);
    GpuUse use = found == hardware.use.end() ? GpuUse{} : found->second;
    text += fmt::format("{} {} {} {} ", use.works ? 1 : 0, use.busy.empty() ? 0 : 1, use.percent,
                        use.free);
    text += fmt::format("{} {} {} {} {} {}\n", gpu.index, gpu.host_number, gpu.total_bytes,
                        gpu.uuid.empty() ? "-" : gpu.uuid,
                        gpu.pci_bus_id.empty() ? "-" : gpu.pci_bus_id, gpu.name);
  }
  return text;
}

void read_gpus(const std::string& text, RankHardware& hardware) {
  std::istringstream lines(text);
  std::getline(lines, hardware.why_no_gpu);
  hardware.gpus.clear();
  hardware.use.clear();
  hardware.peers.clear();
  std::string pairs;
  std::getline(lines, pairs);
  std::istringstream numbers(pairs);
  for (int a = 0, b = 0; numbers >> a >> b;) hardware.peers.emplace_back(a, b);
  for (std::string line; std::getline(lines, line);) {
    CudaDeviceInfo gpu;
    GpuUse use;
    bool busy = false;
    std::istringstream words(line);
    words >> use.works >> busy >> use.percent >> use.free;
    if (busy) use.busy = "busy";
    words >> gpu.index >> gpu.host_number >> gpu.total_bytes >> gpu.uuid >> gpu.pci_bus_id >>
        std::ws;
    std::getline(words, gpu.name);
    for (std::string* id : {&gpu.uuid, &gpu.pci_bus_id})
      if (*id == "-") id->clear();
    hardware.use[gpu.index] = use;
    hardware.gpus.push_back(gpu);
  }
}

std::string list_gpus(const std::vector<CudaDeviceInfo>& gpus) {
  std::vector<std::string> names;
  for (const auto& gpu : gpus) names.push_back(fmt::format("cuda:{} ({})", gpu.index, gpu.name));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace spire
