#include "engine/device/visible_gpus.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

namespace spire {
namespace {

using Uuids = std::vector<std::string>;

// A GPU as CUDA sees it: itself, or with MIG its first MIG device.
std::string shown_as(const HostGpu& gpu) {
  return gpu.mig_devices.empty() ? gpu.uuid : gpu.mig_devices.front().uuid;
}

Uuids split(std::string_view list) {
  Uuids entries;
  for (;;) {
    size_t comma = list.find(',');
    std::string_view entry = list.substr(0, comma);
    size_t begin = std::min(entry.find_first_not_of(" \t"), entry.size());
    entry.remove_prefix(begin);
    entry = entry.substr(0, entry.find_last_not_of(" \t") + 1);
    entries.emplace_back(entry);
    if (comma == list.npos) return entries;
    list.remove_prefix(comma + 1);
  }
}

// What an entry names: a UUID, or the reason why it names nothing.
struct Named {
  std::string uuid, problem;
};

Named find_uuid(const std::string& entry, std::span<const HostGpu> gpus) {
  Uuids found;
  for (const HostGpu& gpu : gpus) {
    if (gpu.uuid.starts_with(entry)) found.push_back(shown_as(gpu));
    for (const MigDevice& device : gpu.mig_devices)
      if (device.uuid.starts_with(entry)) found.push_back(device.uuid);
  }
  if (found.size() == 1) return {found.front(), ""};
  return {"", found.empty() ? "no GPU of this machine has that UUID"
                            : fmt::format("{} GPUs have a UUID that begins so", found.size())};
}

Named find_index(const std::string& entry, std::span<const HostGpu> gpus) {
  int index = -1;
  auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  if (error != std::errc() || end != entry.data() + entry.size())
    return {"", "it is neither a number nor a UUID"};
  if (index < 0 || index >= std::ssize(gpus))
    return {"", fmt::format("this machine has GPUs 0 to {}", std::ssize(gpus) - 1)};
  return {shown_as(gpus[static_cast<size_t>(index)]), ""};
}

// Leaves what one process may see: one MIG device, or the GPUs.
Uuids visible_to_one(Uuids uuids) {
  auto mig = std::ranges::find_if(uuids, [](const auto& uuid) { return uuid.starts_with("MIG-"); });
  return mig == uuids.end() ? uuids : Uuids{*mig};
}

}  // namespace

std::vector<HostGpu> gpus_counted_by_cuda(std::span<const HostGpu> gpus) {
  std::vector<HostGpu> some;
  std::ranges::copy_if(gpus, std::back_inserter(some), [](const HostGpu& gpu) {
    bool nothing_to_show = gpu.mig.value_or(false) && gpu.mig_devices.empty();
    return gpu.condition == GpuCondition::works && !nothing_to_show;
  });
  return some;
}

VisibleGpus visible_gpus(const std::optional<std::string>& value, std::span<const HostGpu> gpus) {
  VisibleGpus visible;
  if (!value) {
    for (const HostGpu& gpu : gpus) visible.uuids.push_back(shown_as(gpu));
    visible.uuids = visible_to_one(std::move(visible.uuids));
    return visible;
  }
  if (value->empty() || *value == "-1" || gpus.empty()) return visible;
  for (const std::string& entry : split(*value)) {
    bool is_uuid = entry.starts_with("GPU-") || entry.starts_with("MIG-");
    Named named = is_uuid ? find_uuid(entry, gpus) : find_index(entry, gpus);
    if (named.problem.empty() &&
        std::ranges::find(visible.uuids, named.uuid) != visible.uuids.end())
      named.problem = "it is listed twice";
    if (!named.problem.empty()) {
      visible.warning =
          fmt::format("CUDA_VISIBLE_DEVICES={}: CUDA ignores '{}' and all behind it: {}", *value,
                      entry, named.problem);
      break;
    }
    visible.uuids.push_back(named.uuid);
  }
  visible.uuids = visible_to_one(std::move(visible.uuids));
  return visible;
}

}  // namespace spire
