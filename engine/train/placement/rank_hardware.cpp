#include "engine/train/placement/rank_hardware.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <fmt/ranges.h>

#include <spire/gpu_monitor.h>
#include <spire/system.h>
#include <spire/text.h>

#include "engine/collective/tree.h"
#include "engine/device/visible_gpus.h"
#include "engine/process/socket.h"

namespace spire::inline training {
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

// Says which entry of CUDA_VISIBLE_DEVICES CUDA ignores, if any.
void check_visible_gpus(RankHardware& hardware) {
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!list) return;
  std::string warning = visible_gpus(std::string(list), working(GpuMonitor().gpus())).warning;
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
  std::string text = hardware.why_no_gpu + "\n";
  for (auto [a, b] : hardware.peers) text += fmt::format("{} {} ", a, b);
  text += "\n";
  for (const auto& gpu : hardware.gpus) {
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
  hardware.peers.clear();
  std::string pairs;
  std::getline(lines, pairs);
  std::istringstream numbers(pairs);
  for (int a = 0, b = 0; numbers >> a >> b;) hardware.peers.emplace_back(a, b);
  for (std::string line; std::getline(lines, line);) {
    CudaDeviceInfo gpu;
    std::istringstream words(line);
    words >> gpu.index >> gpu.host_number >> gpu.total_bytes >> gpu.uuid >> gpu.pci_bus_id >>
        std::ws;
    std::getline(words, gpu.name);
    for (std::string* id : {&gpu.uuid, &gpu.pci_bus_id})
      if (*id == "-") id->clear();
    hardware.gpus.push_back(gpu);
  }
}

std::string list_gpus(const std::vector<CudaDeviceInfo>& gpus) {
  std::vector<std::string> names;
  for (const auto& gpu : gpus) names.push_back(fmt::format("cuda:{} ({})", gpu.index, gpu.name));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace spire::inline training
