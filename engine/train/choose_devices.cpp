// The choice of a run's devices, and their groups that read each other's memory.
#include <algorithm>

#include <fmt/format.h>

#include <spire/error.h>

#include "engine/config/devices.h"
#include "engine/train/rank_hardware.h"

namespace spire::inline training {
namespace {

using Devices = std::vector<DeviceId>;

// Returns "rank 1 (host b): "; empty where there is one rank.
std::string name_of(const std::vector<RankHardware>& ranks, size_t rank) {
  return ranks.size() == 1 ? "" : fmt::format("rank {} (host {}): ", rank, ranks[rank].host);
}

// Throws Error(device) where the rank does not have the named GPU.
void expect_gpu(const std::string& word, DeviceId device, const std::vector<RankHardware>& ranks,
                size_t rank) {
  const auto& gpus = ranks[rank].gpus;
  std::string where = name_of(ranks, rank);
  if (gpus.empty()) {
    fail(Category::device,
         "{}: {}no CUDA device is available: {}; use devices: cpu, or devices: auto", word, where,
         ranks[rank].why_no_gpu);
  }
  auto here = [&](const CudaDeviceInfo& gpu) { return gpu.index == device.index; };
  if (std::any_of(gpus.begin(), gpus.end(), here)) return;
  if (ranks.size() == 1)
    fail(Category::device, "{}: there is no such device; this machine has {}", word,
         list_gpus(gpus));
  fail(Category::device,
       "{}: {}this process has {}, and other processes have the other GPUs; use devices: cuda, "
       "which gives each process its own",
       word, where, list_gpus(gpus));
}

std::vector<DeviceId> all_gpus(const RankHardware& hardware) {
  std::vector<DeviceId> devices;
  for (const auto& gpu : hardware.gpus) devices.push_back({DeviceKind::cuda, gpu.index});
  return devices;
}

// `auto`: GPUs where every rank has some, else the CPU, and the reason for the start report.
ChosenDevices choose_by_hardware(const std::vector<RankHardware>& ranks) {
  ChosenDevices chosen;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].gpus.empty()) {
      std::vector<DeviceId> cpu = {{DeviceKind::cpu, 0}};
      return {std::vector<std::vector<DeviceId>>(ranks.size(), cpu),
              {},
              fmt::format("the CPU, because {}{}", name_of(ranks, rank), ranks[rank].why_no_gpu)};
    }
    chosen.devices.push_back(all_gpus(ranks[rank]));
  }
  chosen.note =
      fmt::format("the GPUs {}{}", ranks.size() > 1 ? "of rank 0: " : "", list_gpus(ranks[0].gpus));
  return chosen;
}

// The devices that the config names, which every rank needs to have; `cuda`: all GPUs of each.
ChosenDevices choose_by_config(const RunConfig& config, const std::vector<RankHardware>& ranks) {
  auto words = expand_devices(config.devices);
  if (words == std::vector<std::string>{"auto"}) return choose_by_hardware(ranks);
  std::vector<DeviceId> named;
  for (const auto& word : words) named.push_back(parse_device(word));
  for (DeviceId device : named) {
    if (device.kind != named[0].kind) {
      fail(Category::config,
           "devices: {} and {} are different kinds of devices, whose results differ; use one kind",
           to_string(named[0]), to_string(device));
    }
  }
  ChosenDevices chosen;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    bool all = words == std::vector<std::string>{"cuda"};
    if (all && !ranks[rank].gpus.empty()) {
      chosen.devices.push_back(all_gpus(ranks[rank]));
      continue;
    }
    for (size_t i = 0; i < named.size(); ++i) {
      if (named[i].kind == DeviceKind::cuda) expect_gpu(words[i], named[i], ranks, rank);
    }
    chosen.devices.push_back(named);
  }
  return chosen;
}

bool reach_each_other(const PeerPairs& peers, DeviceId a, DeviceId b) {
  std::pair<int, int> pair = std::minmax(a.index, b.index);
  return a == b || std::find(peers.begin(), peers.end(), pair) != peers.end();
}

bool is_one_gpu(const Devices& devices) {
  return std::all_of(devices.begin(), devices.end(),
                     [&](DeviceId device) { return device == devices[0]; });
}

}  // namespace

// Devices of one member become neighbours: which device has which towers changes no sum.
ChosenDevices choose_devices(const RunConfig& config, const std::vector<RankHardware>& ranks) {
  ChosenDevices chosen = choose_by_config(config, ranks);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    Devices& devices = chosen.devices[rank];
    chosen.members.push_back(group_peers(devices, ranks[rank].peers, config.cuda.peer));
    devices.clear();
    for (const Devices& member : chosen.members.back())
      devices.insert(devices.end(), member.begin(), member.end());
  }
  return chosen;
}

// Adds each device to the first group all of whose devices it reaches. So two logical devices of a
// GPU come into one: groups that refused the first have only grown since.
std::vector<Devices> group_peers(const Devices& devices, const PeerPairs& peers,
                                 CudaConfig::Peer peer) {
  if (devices[0].kind == DeviceKind::cpu) return {devices};  // one memory, the host's
  std::vector<Devices> groups;
  for (DeviceId device : devices) {
    auto takes = [&](DeviceId other) {
      return device == other ||
             (peer != CudaConfig::Peer::nccl && reach_each_other(peers, device, other));
    };
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Devices& group_of) {
      return std::all_of(group_of.begin(), group_of.end(), takes);
    });
    if (group == groups.end()) group = groups.insert(group, Devices{});
    group->push_back(device);
  }
  if (peer == CudaConfig::Peer::direct && groups.size() > 1) {
    fail(Category::device,
         "cuda.peer: direct, but {} and {} cannot read each other's memory: neither NVLink nor "
         "PCIe peer access connects them; set cuda.peer: auto, which uses NCCL there",
         to_string(groups[0][0]), to_string(groups[1][0]));
  }
  return groups;
}

std::string describe_exchange(const std::vector<std::vector<Devices>>& members,
                              CudaConfig::Peer peer) {
  if (members[0][0][0].kind == DeviceKind::cpu) return "";
  bool direct = false;                          // some GPUs read others' memory
  const std::vector<Devices>* split = nullptr;  // the first process of several members
  for (const auto& process : members) {
    for (const Devices& member : process) direct |= !is_one_gpu(member);
    if (process.size() > 1 && !split) split = &process;
  }
  const char* rest = direct ? "; the others read each other's memory" : "";
  if (split && peer == CudaConfig::Peer::nccl) return "NCCL between all GPUs (cuda.peer: nccl)";
  if (split)
    return fmt::format("NCCL, as {} and {} have no peer access{}", to_string((*split)[0][0]),
                       to_string((*split)[1][0]), rest);
  if (members.size() > 1)
    return fmt::format("NCCL between processes{}",
                       direct ? "; the GPUs of one read each other's memory" : "");
  return direct ? "peer access: GPUs read each other's memory" : "";
}

}  // namespace spire::inline training
