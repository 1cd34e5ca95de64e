#include "engine/train/placement.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/config/check.h"
#include "engine/config/devices.h"
#include "engine/config/words.h"

namespace spire::inline training {
namespace {

struct Chosen {
  std::vector<std::vector<DeviceId>> devices;  // of each rank
  std::string note;
};

// "rank 1 (host b): "; empty where there is one.
std::string name_of(const std::vector<RankPlace>& ranks, size_t rank) {
  return ranks.size() == 1 ? "" : fmt::format("rank {} (host {}): ", rank, ranks[rank].host);
}

void expect_gpu(const std::string& word, DeviceId device, const std::vector<RankPlace>& ranks,
                size_t rank) {
  const auto& gpus = ranks[rank].gpus;
  std::string place = name_of(ranks, rank);
  if (gpus.empty()) {
    fail(Category::device,
         "{}: {}no CUDA device is available: {}; use devices: cpu, or devices: auto", word, place,
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
       word, place, list_gpus(gpus));
}

std::vector<DeviceId> all_gpus(const RankPlace& place) {
  std::vector<DeviceId> devices;
  for (const auto& gpu : place.gpus) devices.push_back({DeviceKind::cuda, gpu.index});
  return devices;
}

// GPUs where every rank has some.
Chosen choose_by_hardware(const std::vector<RankPlace>& ranks) {
  Chosen chosen;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].gpus.empty()) {
      std::vector<DeviceId> cpu = {{DeviceKind::cpu, 0}};
      return {std::vector<std::vector<DeviceId>>(ranks.size(), cpu),
              fmt::format("the CPU, because {}{}", name_of(ranks, rank), ranks[rank].why_no_gpu)};
    }
    chosen.devices.push_back(all_gpus(ranks[rank]));
  }
  chosen.note =
      fmt::format("the GPUs {}{}", ranks.size() > 1 ? "of rank 0: " : "", list_gpus(ranks[0].gpus));
  return chosen;
}

Chosen choose_devices(const RunConfig& config, const std::vector<RankPlace>& ranks) {
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
  Chosen chosen;
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

// What the start block says of a device. cores: those of its rank's that it has threads for.
std::string describe(DeviceId device, const std::vector<int>& cores, const RankPlace& place) {
  if (device.kind == DeviceKind::cpu) {
    if (cores.size() == place.cores.size()) return describe_cores(cores);
    return fmt::format("{} of {}", counted(std::ssize(cores), "core"), core_ranges(place.cores));
  }
  const auto& gpu = *std::find_if(place.gpus.begin(), place.gpus.end(),
                                  [&](const auto& g) { return g.index == device.index; });
  return fmt::format("{}, {:.1f} GiB", gpu.name, static_cast<double>(gpu.total_bytes) / (1 << 30));
}

int default_threads(const Placement& placement, const std::vector<std::vector<int>>& cores) {
  if (placement.devices[0].id.kind == DeviceKind::cuda) return 1;
  int threads = 1 << 20;
  for (size_t d = 0; d < cores.size(); ++d) {
    int towers = std::max(1, placement.devices[d].towers.size());
    threads = std::min(threads, static_cast<int>(cores[d].size()) / towers);
  }
  return std::max(1, threads);
}

// Where the lanes of a device run while they are not pinned.
std::vector<int> lane_cores(DeviceId device, const RankPlace& place) {
  return device.kind == DeviceKind::cpu ? place.cores : place.cores_near(device);
}

// Fills the device's lanes in; those of this rank become the placement's own.
void add_lanes(Placement& placement, size_t index, const std::vector<int>& cores, int first_lane,
               const RankPlace& place) {
  PlacedDevice& device = placement.devices[index];
  bool gpu = device.id.kind == DeviceKind::cuda;  // one lane, whose thread only gives it work
  int threads = gpu ? 1 : placement.tower_threads;
  int possible = gpu ? 1 : std::max(1, static_cast<int>(cores.size()) / threads);
  device.lanes = std::clamp(device.towers.size(), 1, possible);
  device.first_lane = first_lane;
  if (device.rank != placement.rank) return;
  for (int lane = 0; lane < device.lanes; ++lane) {
    std::vector<int> own;
    for (int t = 0; t < threads; ++t)
      own.push_back(cores[static_cast<size_t>(lane * threads + t) % cores.size()]);
    TowerRange share = towers_of_lane(device.towers.size(), lane, device.lanes);
    placement.lanes.push_back({device.id, lane_cores(device.id, place), threads});
    placement.lane_cores.push_back(std::move(own));
    placement.lane_device.push_back(static_cast<int>(index));
    placement.lane_towers.push_back(
        {device.towers.begin + share.begin, device.towers.begin + share.end});
  }
}

// Devices of one member become neighbours: which device has which towers changes no sum.
std::vector<std::vector<std::vector<DeviceId>>> find_members(Chosen& chosen,
                                                             const std::vector<RankPlace>& ranks,
                                                             CudaConfig::Peer peer) {
  std::vector<std::vector<std::vector<DeviceId>>> members;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    auto& devices = chosen.devices[rank];
    members.push_back(group_peers(devices, ranks[rank].peers, peer));
    devices.clear();
    for (const auto& member : members.back())
      devices.insert(devices.end(), member.begin(), member.end());
  }
  return members;
}

// Once devices have their towers, and the parameter device is known.
void place_members(Placement& placement,
                   const std::vector<std::vector<std::vector<DeviceId>>>& members) {
  int begin = 0, all = static_cast<int>(placement.devices.size());
  for (size_t rank = 0; rank < members.size(); ++rank) {
    for (const auto& devices : members[rank]) {
      Member member;
      member.rank = static_cast<int>(rank);
      member.devices = {begin, begin + static_cast<int>(devices.size()), all};
      for (; begin < member.devices.end; ++begin)
        placement.devices[static_cast<size_t>(begin)].member =
            static_cast<int>(placement.members.size());
      auto at = [&](int device) { return placement.devices[static_cast<size_t>(device)].towers; };
      member.towers = {at(member.devices.begin).begin, at(member.devices.end - 1).end};
      int parameters = placement.parameter_device;
      bool has = parameters >= member.devices.begin && parameters < member.devices.end;
      member.front = has ? parameters : member.devices.begin;
      placement.members.push_back(member);
    }
  }
}

// Rank 0 holds the parameter device: it also writes the checkpoints.
int find_parameter_device(const RunConfig& config, const Placement& placement) {
  if (config.parameter_device == "auto" || placement.updates_on_host) return 0;
  DeviceId wanted = parse_device(config.parameter_device);
  std::vector<std::string> names;
  for (size_t i = 0; i < placement.devices.size() && placement.devices[i].rank == 0; ++i) {
    if (placement.devices[i].id == wanted) return static_cast<int>(i);
    names.push_back(to_string(placement.devices[i].id));
  }
  fail(Category::config, "parameter_device: {} is not one of {}'s devices; use one of {}",
       config.parameter_device, placement.ranks > 1 ? "rank 0" : "the run", fmt::join(names, ", "));
}

// The CPU as the parameter device of GPUs.
bool asks_for_host(const RunConfig& config, const Placement& placement) {
  if (config.parameter_device == "auto") return false;
  DeviceId wanted = parse_device(config.parameter_device);
  if (wanted != DeviceId{} || placement.devices[0].id.kind == DeviceKind::cpu) return false;
  if (placement.strategy == Strategy::parameter_device) return true;
  fail(Category::config,
       "parameter_device: {} does not fit strategy: {}, by which each GPU updates its own weights; "
       "use strategy: parameter_device",
       config.parameter_device, word_of(config.strategy));
}

int settle_threads(const RunConfig& config, std::optional<int> kept, const Placement& placement,
                   const std::vector<std::vector<int>>& cores) {
  auto asked = static_cast<int>(config.tower_threads.value_or(0));
  if (kept && asked && asked != *kept) {
    fail(Category::config,
         "tower_threads: {}, but the run of the checkpoint has {}, and results would differ; leave "
         "it out, or start a new run",
         asked, *kept);
  }
  if (asked) return asked;
  return kept ? *kept : default_threads(placement, cores);
}

// "2, 3 or 6"
std::string device_counts_dividing(int towers) {
  std::vector<std::string> counts;
  for (int n = 1; n <= towers; ++n) {
    if (towers % n == 0) counts.push_back(std::to_string(n));
  }
  if (counts.size() == 1) return counts[0];
  std::string last = counts.back();
  counts.pop_back();
  return fmt::format("{} or {}", fmt::join(counts, ", "), last);
}

// The cores of the devices of a rank: not more in all than it may have threads.
std::vector<int> computing_cores(const RankPlace& place) {
  return {place.cores.begin(), place.cores.begin() + place.max_threads()};
}

std::vector<LaneSpec> host_lanes(const RankPlace& place) {
  return std::vector<LaneSpec>(static_cast<size_t>(place.max_threads()),
                               LaneSpec{{}, place.allowed_cores(), 1});
}

std::vector<int> helper_cores(const Placement& placement, const RankPlace& place) {
  std::vector<int> near;
  for (const LaneSpec& lane : placement.lanes) {
    if (lane.device.kind == DeviceKind::cuda)
      near.insert(near.end(), lane.cores.begin(), lane.cores.end());
  }
  return prefer_cores(place.allowed_cores(), near);
}

}  // namespace

std::string core_ranges(const std::vector<int>& cores) {
  std::string text;
  for (size_t i = 0; i < cores.size();) {
    size_t end = i + 1;
    while (end < cores.size() && cores[end] == cores[end - 1] + 1) ++end;
    text += text.empty() ? "" : ",";
    text += end - i > 1 ? fmt::format("{}-{}", cores[i], cores[end - 1]) : std::to_string(cores[i]);
    i = end;
  }
  return text;
}

std::string describe_cores(const std::vector<int>& cores) {
  return fmt::format("{}: {}", counted(std::ssize(cores), "core"), core_ranges(cores));
}

Share Placement::devices_of(int wanted) const {
  Share share{0, 0, static_cast<int>(devices.size())};
  for (const auto& device : devices) {
    share.begin += device.rank < wanted;
    share.end += device.rank <= wanted;
  }
  return share;
}

TowerRange Placement::towers_of(int wanted) const {
  Share share = devices_of(wanted);
  return {devices[static_cast<size_t>(share.begin)].towers.begin,
          devices[static_cast<size_t>(share.end - 1)].towers.end};
}

Placement place_towers(const RunConfig& given, const std::vector<RankPlace>& ranks, int rank,
                       std::optional<int> kept_tower_threads) {
  Chosen chosen = choose_devices(given, ranks);
  auto members = find_members(chosen, ranks, given.cuda.peer);
  Placement placement;
  placement.exchange = describe_exchange(members, given.cuda.peer);
  placement.rank = rank;
  placement.ranks = static_cast<int>(ranks.size());
  int count = 0;
  for (const auto& devices : chosen.devices) count += static_cast<int>(devices.size());
  RunConfig config = given;
  settle_batch(config, count);
  placement.note = chosen.note;
  placement.strategy = config.strategy;
  placement.reduction =
      config.reduction == RunConfig::Reduction::native ? Reduction::native : Reduction::invariant;
  placement.towers = static_cast<int>(*config.towers);
  placement.batch_size = config.batch_size;
  if (placement.towers < count) {
    fail(Category::config,
         "{} devices but only {}: some devices would have nothing to do; "
         "use at most {}, or set towers to at least {}",
         count, counted(placement.towers, "tower"), counted(placement.towers, "device"), count);
  }
  std::vector<std::vector<int>> cores;
  for (size_t owner = 0; owner < ranks.size(); ++owner) {
    const auto& devices = chosen.devices[owner];
    auto local = static_cast<int>(devices.size());
    for (int d = 0; d < local; ++d) {
      DeviceId id = devices[static_cast<size_t>(d)];
      auto index = static_cast<int>(placement.devices.size());
      cores.push_back(cores_of_device(computing_cores(ranks[owner]), d, local));
      placement.devices.push_back({id, static_cast<int>(owner),
                                   describe(id, cores.back(), ranks[owner]),
                                   towers_of_lane(placement.towers, index, count)});
    }
  }
  placement.tower_threads = settle_threads(config, kept_tower_threads, placement, cores);
  for (size_t i = 0; i < placement.devices.size(); ++i) {
    const PlacedDevice* before = i > 0 ? &placement.devices[i - 1] : nullptr;
    bool first = !before || before->rank != placement.devices[i].rank;
    add_lanes(placement, i, cores[i], first ? 0 : before->first_lane + before->lanes,
              ranks[static_cast<size_t>(placement.devices[i].rank)]);
  }
  placement.updates_on_host = asks_for_host(config, placement);
  if (placement.updates_on_host) placement.host_lanes = host_lanes(ranks[0]);
  placement.helper_cores = helper_cores(placement, ranks[static_cast<size_t>(rank)]);
  placement.parameter_device = find_parameter_device(config, placement);
  place_members(placement, members);
  return placement;
}

std::string guarantee(const Placement& placement) {
  auto count = static_cast<int>(placement.devices.size());
  bool gpus = placement.devices[0].id.kind == DeviceKind::cuda;
  std::string text;
  if (placement.reduction == Reduction::invariant) {
    text = gpus ? fmt::format(
                      "bitwise equal on any number of GPUs of this kind up to {}, in any number of "
                      "processes, {}",
                      placement.towers,
                      placement.updates_on_host ? "where the CPU updates" : "by any strategy")
                : fmt::format(
                      "bitwise equal on any number of CPU devices up to {}, in any number of "
                      "processes, by any strategy, at tower_threads {}",
                      placement.towers, placement.tower_threads);
  } else {
    text = fmt::format(
        "bitwise equal only on {} device{} in {} process{} (reduction: native), else up to "
        "rounding",
        count, count == 1 ? "" : "s", placement.ranks, placement.ranks == 1 ? "" : "es");
  }
  if (placement.towers % count == 0) return text;
  int most = (placement.towers + count - 1) / count;
  return text +
         fmt::format("\n{} towers on {} devices: some host {}, some {}; {} devices share evenly",
                     placement.towers, count, most, most - 1,
                     device_counts_dividing(placement.towers));
}

}  // namespace spire::inline training
