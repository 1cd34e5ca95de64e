// The choice of a run's devices, and whether they read each other's memory.
#include <algorithm>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/devices.h"
#include "engine/config/words.h"
#include "engine/device/device.h"
#include "engine/train/placement/rank_hardware.h"

namespace spire {
namespace {

using Devices = std::vector<DeviceId>;

// Returns "rank 1 (host b): "; empty where there is one rank.
std::string name_of(const std::vector<RankHardware>& ranks, size_t rank) {
  return ranks.size() == 1 ? "" : fmt::format("rank {} (host {}): ", rank, ranks[rank].host);
}

// What else the config may say, so that the run takes what there is.
std::string other_policies(RunConfig::OnMissing policy, bool group) {
  using OnMissing = RunConfig::OnMissing;
  if (group) return policy == OnMissing::fail ? "; with on_missing: fewer the run takes those" : "";
  if (policy == OnMissing::fewer) return "; with on_missing: any the run takes another GPU";
  if (policy == OnMissing::any) return "";
  return "; with on_missing: any the run takes another GPU, with fewer it goes on without it";
}

// word: a name, or a gpu_group() that asks for more than there are.
[[noreturn]] void refuse_missing(const std::string& word, const RunConfig& config,
                                 const std::vector<RankHardware>& ranks, size_t rank) {
  const auto& gpus = ranks[rank].gpus;
  std::string where = name_of(ranks, rank);
  if (gpus.empty()) {
    fail(Category::device, "{}: {}no CUDA device is available: {}; use cpu or auto in its place",
         word, where, ranks[rank].why_no_gpu);
  }
  bool group = gpu_group(word).has_value();
  std::string policies = other_policies(config.on_missing, group);
  if (group)
    fail(Category::device, "{}: {}there are fewer: {}{}", word, where, list_gpus(gpus), policies);
  if (ranks.size() == 1)
    fail(Category::device, "{}: there is no such device; this machine has {}{}", word,
         list_gpus(gpus), policies);
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

// wanted: number of devices of all ranks for which the CPUs stand in.
ChosenDevices cpu_of_each(size_t ranks, int wanted, std::string note) {
  ChosenDevices chosen;
  chosen.devices.assign(ranks, {{DeviceKind::cpu, 0}});
  chosen.wanted = std::max(wanted, static_cast<int>(ranks));
  chosen.note = std::move(note);
  return chosen;
}

// Says how many GPUs of all ranks are in use where there are more than towers; else "".
std::string note_of_spare(const RunConfig& config, const std::vector<RankHardware>& ranks) {
  size_t spare = 0, used = 0;
  for (const RankHardware& rank : ranks) {
    spare += static_cast<size_t>(rank.spare);
    used += rank.gpus.size();
  }
  if (spare == 0) return "";
  return fmt::format("{} of {} GPUs, as the run has {}: ", used, used + spare,
                     counted(*config.towers, "tower"));
}

std::string note_of_gpus(const RunConfig& config, const std::vector<RankHardware>& ranks) {
  std::string spare = note_of_spare(config, ranks);
  return fmt::format("{}{}{}", spare.empty() ? "the GPUs " : spare,
                     ranks.size() > 1 ? "of rank 0: " : "", list_gpus(ranks[0].gpus));
}

// `auto`: GPUs where every rank has some, else the CPU, and the reason for the start report.
ChosenDevices choose_by_hardware(const RunConfig& config, const std::vector<RankHardware>& ranks) {
  ChosenDevices chosen;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].gpus.empty()) {
      return cpu_of_each(
          ranks.size(), 0,
          fmt::format("the CPU, because {}{}", name_of(ranks, rank), ranks[rank].why_no_gpu));
    }
    chosen.devices.push_back(all_gpus(ranks[rank]));
    chosen.wanted += static_cast<int>(ranks[rank].gpus.size());
  }
  chosen.note = note_of_gpus(config, ranks);
  return chosen;
}

void expect_one_kind(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (names_gpu(word) == names_gpu(words[0])) continue;
    fail(Category::config,
         "devices: {} and {} are different kinds of devices, whose results differ; use one kind",
         words[0], word);
  }
}

// The devices of a rank that single names name, and the names of those that it does not have.
struct NamedDevices {
  std::vector<DeviceId> found;
  std::vector<std::string> missing;
  std::string note = {};  // which GPUs are taken in the place of others
};

NamedDevices find_named(const std::vector<std::string>& words, const RankHardware& hardware) {
  NamedDevices named;
  for (const std::string& word : words) {
    if (!names_gpu(word)) {
      named.found.push_back(parse_device(word));
      continue;
    }
    auto gpus = named_gpus(word, hardware.gpus);
    if (gpus.size() > 1)
      fail(Category::config, "devices: {} begins the UUIDs of {} GPUs; write more of it", word,
           gpus.size());
    if (gpus.empty()) named.missing.push_back(word);
    named.found.insert(named.found.end(), gpus.begin(), gpus.end());
  }
  return named;
}

// on_missing: any. Gives each missing GPU's place to the least loaded of those that are not named.
void replace_missing(NamedDevices& named, const RankHardware& hardware) {
  for (int index : by_load(hardware)) {
    DeviceId gpu{DeviceKind::cuda, index};
    if (named.missing.empty() || std::ranges::find(named.found, gpu) != named.found.end()) continue;
    named.note += fmt::format("{}{} in the place of {}, which is missing (on_missing: any)",
                              named.note.empty() ? "" : "; ", to_string(gpu), named.missing[0]);
    named.found.push_back(gpu);
    named.missing.erase(named.missing.begin());
  }
}

// Says that the run goes on with fewer devices, which no other trainer can do with the same bits.
std::string note_of_missing(const std::string& what, size_t found, int wanted,
                            RunConfig::OnMissing policy) {
  return fmt::format(
      "{} of {}, as {} (on_missing: {}); the towers stay as many, so the trained weights are the "
      "same bit for bit",
      found, counted(wanted, "device"), what, word_of(policy));
}

// The GPUs of a rank that a group means, of those that are left where idle ones were chosen before.
NamedDevices find_group(const std::string& word, const GpuGroup& group,
                        const RankHardware& hardware) {
  NamedDevices named{all_gpus(hardware), {}};
  if (!group.count) return named;
  auto count = static_cast<size_t>(*group.count);
  named.missing.assign(count - std::min(count, named.found.size()), word);
  if (named.found.size() > count) named.found.resize(count);
  return named;
}

std::string why_fewer(const NamedDevices& named, const std::optional<GpuGroup>& group) {
  if (group && group->idle) return "no more GPUs are idle";
  if (group) return "there are no more";
  return fmt::format("{} {} missing", fmt::join(named.missing, ", "),
                     named.missing.size() == 1 ? "is" : "are");
}

std::string why_cpu(const RankHardware& hardware) {
  return hardware.gpus.empty() ? hardware.why_no_gpu : "none of the named GPUs is there";
}

// The devices that the config names, of every rank.
ChosenDevices choose_by_config(const RunConfig& config, const std::vector<RankHardware>& ranks) {
  using OnMissing = RunConfig::OnMissing;
  auto words = without_limits(expand_devices(config.devices));
  if (words[0] == "auto") return choose_by_hardware(config, ranks);
  expect_one_kind(words);
  std::optional<GpuGroup> group = gpu_group(words[0]);
  ChosenDevices chosen;
  std::string why_none;  // a rank has no device
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    NamedDevices named =
        group ? find_group(words[0], *group, ranks[rank]) : find_named(words, ranks[rank]);
    auto wanted = static_cast<int>(named.found.size() + named.missing.size());
    chosen.wanted += wanted;
    if (!group && config.on_missing == OnMissing::any) replace_missing(named, ranks[rank]);
    if (!named.note.empty())
      chosen.note += (chosen.note.empty() ? "" : "; ") + name_of(ranks, rank) + named.note;
    bool fails = config.on_missing == OnMissing::fail && !named.missing.empty();
    bool none = named.found.empty();
    if (fails || (none && config.on_missing != OnMissing::cpu))
      refuse_missing(named.missing.empty() ? words[0] : named.missing[0], config, ranks, rank);
    if (none && why_none.empty()) why_none = name_of(ranks, rank) + why_cpu(ranks[rank]);
    if (!none && !named.missing.empty())
      chosen.note +=
          (chosen.note.empty() ? "" : "; ") + name_of(ranks, rank) +
          note_of_missing(why_fewer(named, group), named.found.size(), wanted, config.on_missing);
    chosen.devices.push_back(std::move(named.found));
  }
  if (why_none.empty()) {
    bool all = group && !group->count;
    if (all && !note_of_spare(config, ranks).empty()) chosen.note = note_of_gpus(config, ranks);
    return chosen;
  }
  chosen = cpu_of_each(ranks.size(), chosen.wanted,
                       fmt::format("the CPU (on_missing: cpu), because {}; its bits are not those "
                                   "of a GPU",
                                   why_none));
  chosen.fell_back = true;
  return chosen;
}

bool reach_each_other(const PeerPairs& peers, DeviceId a, DeviceId b) {
  std::pair<int, int> pair = std::minmax(a.index, b.index);
  return a == b || std::find(peers.begin(), peers.end(), pair) != peers.end();
}

std::vector<Devices> members_of(const Devices& devices) {
  if (devices[0].kind == DeviceKind::cpu) return {devices};  // one memory, the host's
  std::vector<Devices> members;
  for (DeviceId device : devices) {
    auto member = std::ranges::find(members, device, [](const Devices& one) { return one[0]; });
    if (member == members.end()) member = members.insert(member, Devices{});
    member->push_back(device);
  }
  return members;
}

// See ChosenDevices::without_access. With cuda.peer: nccl none reads another's memory.
std::optional<std::pair<DeviceId, DeviceId>> pair_without_access(
    const std::vector<Devices>& members, const PeerPairs& peers, CudaConfig::Peer peer) {
  for (size_t i = 0; i < members.size(); ++i)
    for (size_t k = i + 1; k < members.size(); ++k) {
      DeviceId a = members[i][0], b = members[k][0];
      if (peer != CudaConfig::Peer::nccl && reach_each_other(peers, a, b)) continue;
      if (peer == CudaConfig::Peer::direct)
        fail(Category::device,
             "cuda.peer: direct, but {} and {} cannot read each other's memory: neither NVLink nor "
             "PCIe peer access connects them; set cuda.peer: auto, which uses NCCL there",
             to_string(a), to_string(b));
      return std::pair(a, b);
    }
  return {};
}

}  // namespace

std::vector<DeviceId> named_gpus(const std::string& word, const std::vector<CudaDeviceInfo>& gpus) {
  std::string pci = is_pci_bus_id(word) ? normal_pci_bus_id(word) : "";
  auto has_name = [&](const CudaDeviceInfo& gpu) {
    if (!pci.empty()) return gpu.pci_bus_id == pci;
    return is_gpu_uuid(word) ? gpu.uuid.starts_with(word) : gpu.index == parse_device(word).index;
  };
  std::vector<DeviceId> found;
  for (const CudaDeviceInfo& gpu : gpus)
    if (has_name(gpu)) found.push_back({DeviceKind::cuda, gpu.index});
  return found;
}

// Devices of one member become neighbours: which device has which towers changes no sum.
ChosenDevices choose_devices(const RunConfig& config, const std::vector<RankHardware>& ranks) {
  ChosenDevices chosen = choose_by_config(config, ranks);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    Devices& devices = chosen.devices[rank];
    chosen.members.push_back(members_of(devices));
    chosen.without_access.push_back(
        pair_without_access(chosen.members.back(), ranks[rank].peers, config.cuda.peer));
    devices.clear();
    for (const Devices& member : chosen.members.back())
      devices.insert(devices.end(), member.begin(), member.end());
  }
  return chosen;
}

std::string describe_exchange(const ChosenDevices& chosen, CudaConfig::Peer peer) {
  if (chosen.devices[0][0].kind == DeviceKind::cpu) return "";
  bool direct = false;
  for (size_t rank = 0; rank < chosen.members.size(); ++rank) {
    const auto& members = chosen.members[rank];
    if (members.size() == 1) continue;
    if (peer == CudaConfig::Peer::nccl) return "NCCL between all GPUs (cuda.peer: nccl)";
    if (const auto& pair = chosen.without_access[rank])
      return fmt::format("NCCL, as {} and {} have no peer access", to_string(pair->first),
                         to_string(pair->second));
    direct = true;
  }
  if (chosen.members.size() > 1)
    return fmt::format("NCCL between processes{}",
                       direct ? "; the GPUs of one read each other's memory" : "");
  return direct ? "peer access: GPUs read each other's memory" : "";
}

}  // namespace spire
