#include "engine/train/placement/placement.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/check.h"
#include "engine/config/devices.h"
#include "engine/config/words.h"
#include "engine/train/memory/memory_limits.h"

namespace spire {
namespace {

// Describes a device for the start block. cores: those of its rank's that it has threads for.
std::string describe(DeviceId device, const std::vector<int>& cores, const RankHardware& hardware) {
  if (device.kind == DeviceKind::cpu) {
    if (cores.size() == hardware.cores.size()) return describe_cores(cores);
    return fmt::format("{} of {}", counted(std::ssize(cores), "core"), core_ranges(hardware.cores));
  }
  const auto& gpu = *std::find_if(hardware.gpus.begin(), hardware.gpus.end(),
                                  [&](const auto& g) { return g.index == device.index; });
  std::string text =
      fmt::format("{}, {:.1f} GiB", gpu.name, static_cast<double>(gpu.total_bytes) / (1 << 30));
  if (gpu.host_number >= 0) text += fmt::format(", nvidia-smi's {}", gpu.host_number);
  for (const std::string& id : {gpu.pci_bus_id, gpu.uuid})
    if (!id.empty()) text += ", " + id;
  return text;
}

// As many as give each tower of every device its own cores. A GPU's lane only launches kernels.
int default_threads(const Placement& placement, const std::vector<std::vector<int>>& cores) {
  if (placement.devices[0].id.kind == DeviceKind::cuda) return 1;
  int threads = 1 << 20;
  for (size_t d = 0; d < cores.size(); ++d) {
    int towers = std::max(1, placement.devices[d].towers.size());
    threads = std::min(threads, static_cast<int>(cores[d].size()) / towers);
  }
  return std::max(1, threads);
}

// Returns the cores on which a device's lanes run while they are not pinned.
std::vector<int> lane_cores(DeviceId device, const RankHardware& hardware) {
  return device.kind == DeviceKind::cpu ? hardware.cores : hardware.cores_near(device);
}

// Decides the device's number of lanes, and adds those of this rank to the placement.
void add_lanes(Placement& placement, size_t index, const std::vector<int>& cores, int first_lane,
               const RankHardware& hardware) {
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
    placement.lanes.push_back({device.id, lane_cores(device.id, hardware), threads});
    placement.lane_cores.push_back(std::move(own));
    placement.lane_device.push_back(static_cast<int>(index));
    placement.lane_towers.push_back(
        {device.towers.begin + share.begin, device.towers.begin + share.end});
  }
}

// Fills in the members, once devices have their towers and the parameter device is known.
void place_members(Placement& placement, const ChosenDevices& chosen) {
  int begin = 0, all = static_cast<int>(placement.devices.size());
  for (size_t rank = 0; rank < chosen.members.size(); ++rank) {
    auto first = static_cast<int>(placement.members.size());
    int end = first + static_cast<int>(chosen.members[rank].size());
    for (const auto& devices : chosen.members[rank]) {
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
      int self = static_cast<int>(placement.members.size());
      member.peers =
          chosen.without_access[rank] ? PeerRange{self, self + 1} : PeerRange{first, end};
      placement.members.push_back(member);
    }
  }
}

// Returns the devices that a name means; several for a UUID that is cut too short.
std::vector<DeviceId> meant_devices(const std::string& word,
                                    const std::vector<CudaDeviceInfo>& gpus) {
  if (!names_gpu(word)) return {parse_device(word)};
  return named_gpus(word, gpus);
}

// One of rank 0's devices, as rank 0 writes the checkpoints. gpus: of rank 0. Notes one that is
// missing.
int find_parameter_device(const RunConfig& config, Placement& placement,
                          const std::vector<CudaDeviceInfo>& gpus) {
  if (config.parameter_device == "auto" || placement.updates_on_host) return 0;
  std::vector<DeviceId> wanted = meant_devices(config.parameter_device, gpus);
  std::vector<std::string> names;
  for (size_t i = 0; i < placement.devices.size() && placement.devices[i].rank == 0; ++i) {
    if (wanted.size() == 1 && placement.devices[i].id == wanted[0]) return static_cast<int>(i);
    names.push_back(to_string(placement.devices[i].id));
  }
  if (config.on_missing != RunConfig::OnMissing::fail && wanted.empty()) {
    placement.note +=
        fmt::format("{}{} updates the weights, as parameter_device: {} is missing",
                    placement.note.empty() ? "" : "; ", names[0], config.parameter_device);
    return 0;
  }
  fail(Category::config, "parameter_device: {} is not one of {}'s devices; use one of {}",
       config.parameter_device, placement.ranks > 1 ? "rank 0" : "the run", fmt::join(names, ", "));
}

// True where the CPU is to be the parameter device of GPUs.
bool asks_for_host(const RunConfig& config, const Placement& placement) {
  if (config.parameter_device == "auto" || names_gpu(config.parameter_device)) return false;
  if (parse_device(config.parameter_device) != DeviceId{} ||
      placement.devices[0].id.kind == DeviceKind::cpu)
    return false;
  if (placement.strategy == Strategy::parameter_device) return true;
  fail(Category::config,
       "parameter_device: {} does not fit strategy: {}, by which each GPU updates its own weights; "
       "use strategy: parameter_device",
       config.parameter_device, word_of(config.strategy));
}

// tower_threads decides bits, so a resumed run keeps its checkpoint's.
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

// Returns the cores of a rank's devices: not more in all than it may have threads.
std::vector<int> computing_cores(const RankHardware& hardware) {
  return {hardware.cores.begin(), hardware.cores.begin() + hardware.max_threads()};
}

std::vector<LaneSpec> host_lanes(const RankHardware& hardware) {
  return std::vector<LaneSpec>(static_cast<size_t>(hardware.max_threads()),
                               LaneSpec{{}, hardware.allowed_cores(), 1});
}

std::vector<int> helper_cores(const Placement& placement, const RankHardware& hardware) {
  std::vector<int> near;
  for (const LaneSpec& lane : placement.lanes) {
    if (lane.device.kind == DeviceKind::cuda)
      near.insert(near.end(), lane.cores.begin(), lane.cores.end());
  }
  return prefer_cores(hardware.allowed_cores(), near);
}

}  // namespace

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

// Every rank makes the same list of all ranks' devices; lanes are its own alone.
Placement place_towers(const RunConfig& given, const std::vector<RankHardware>& ranks, int rank,
                       std::optional<int> kept_tower_threads) {
  ChosenDevices chosen = choose_devices(given, ranks);
  Placement placement;
  placement.exchange = describe_exchange(chosen, given.cuda.peer);
  placement.rank = rank;
  placement.ranks = static_cast<int>(ranks.size());
  int count = 0;
  for (const auto& devices : chosen.devices) count += static_cast<int>(devices.size());
  RunConfig config = given;
  settle_batch(config, chosen.wanted);  // towers do not depend on devices that are missing
  placement.note = chosen.note;
  placement.fell_back = chosen.fell_back;
  for (const RankHardware& hardware : ranks) placement.spare += hardware.spare;
  placement.strategy = config.strategy;
  placement.reduction =
      config.reduction == RunConfig::Reduction::native ? Reduction::native : Reduction::invariant;
  placement.rounds_to_bf16 = config.reduction_dtype == RunConfig::GradientDtype::bf16;
  placement.towers = static_cast<int>(*config.towers);
  placement.batch_size = config.batch_size;
  placement.global_batch = *config.global_batch;
  if (placement.towers < count) {
    fail(Category::config,
         "{} devices but only {}: some devices would have nothing to do; "
         "use at most {}, or set towers to at least {}",
         count, counted(placement.towers, "tower"), counted(placement.towers, "device"), count);
  }
  // Devices in tower order, each with its share of the towers and of its rank's cores.
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
  place_limits(config, ranks, placement);
  placement.tower_threads = settle_threads(config, kept_tower_threads, placement, cores);
  // Lanes are numbered within a rank.
  for (size_t i = 0; i < placement.devices.size(); ++i) {
    const PlacedDevice* before = i > 0 ? &placement.devices[i - 1] : nullptr;
    bool first = !before || before->rank != placement.devices[i].rank;
    add_lanes(placement, i, cores[i], first ? 0 : before->first_lane + before->lanes,
              ranks[static_cast<size_t>(placement.devices[i].rank)]);
  }
  placement.updates_on_host = asks_for_host(config, placement);
  if (placement.updates_on_host) placement.host_lanes = host_lanes(ranks[0]);
  placement.helper_cores = helper_cores(placement, ranks[static_cast<size_t>(rank)]);
  placement.parameter_device = find_parameter_device(config, placement, ranks[0].gpus);
  place_members(placement, chosen);
  return placement;
}

// What is said of a placement.

namespace {

// Number of towers that a lane of the device runs one after another.
int64_t in_a_row(const PlacedDevice& device) {
  int64_t towers = device.towers.size(), lanes = std::max(1, device.lanes);
  return (towers + lanes - 1) / lanes;
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

}  // namespace

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

std::string exact_guarantee(const Placement& placement) {
  bool gpus = placement.devices[0].id.kind == DeviceKind::cuda;
  return fmt::format(
      "bitwise equal for any towers that share a global batch of {}, on any {}, in any number of "
      "processes, by any strategy",
      placement.global_batch, gpus ? "GPUs" : "CPU devices, with any tower_threads");
}

std::string accumulation_text(const Placement& placement) {
  const PlacedDevice& longest = *std::ranges::max_element(placement.devices, {}, in_a_row);
  int64_t row = in_a_row(longest);
  if (row < 2) return "";
  bool all = std::ranges::all_of(
      placement.devices, [&](const PlacedDevice& device) { return in_a_row(device) == row; });
  std::string towers = longest.lanes > 1 ? fmt::format("{} towers, {} at a time",
                                                       longest.towers.size(), longest.lanes)
                                         : fmt::format("{} towers one after another", row);
  return fmt::format(
      "{} on {}: {} runs {}{}, which is gradient accumulation over {}",
      counted(placement.towers, "tower"), counted(std::ssize(placement.devices), "device"),
      placement.devices.size() == 1 ? "it" : "each device", all ? "" : "up to ", towers, row);
}

}  // namespace spire
