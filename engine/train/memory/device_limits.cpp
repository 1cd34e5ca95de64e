#include "engine/train/memory/device_limits.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/config/devices.h"
#include "engine/observe/formatting.h"
#include "engine/train/placement/rank_hardware.h"

namespace spire {
namespace {

// Tells whether the name means this device of its rank.
bool means(const std::string& name, DeviceId id, const RankHardware& hardware) {
  if (!names_gpu(name)) return id.kind == DeviceKind::cpu && parse_device(name) == id;
  auto gpus = named_gpus(name, hardware.gpus);
  return gpus.size() == 1 && gpus[0] == id;
}

// Returns 0 for a device without a limit of its own.
size_t own_bytes(const PlacedDevice& device, size_t total) {
  if (device.memory_limit.empty()) return 0;
  return parse_memory_limit(device.memory_limit).share(total, 1).value_or(0);
}

std::string limit_bytes_text(size_t bytes) {
  return bytes_text(static_cast<int64_t>(bytes));
}

}  // namespace

// Members bring devices into another order than the config's, but those of one GPU keep theirs.
void place_limits(const RunConfig& config, const std::vector<RankHardware>& ranks,
                  Placement& placement) {
  std::vector<std::string> words = expand_devices(config.devices);
  if (without_limits(words) == words) return;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<LimitedDevice> left;
    for (const std::string& word : words) left.push_back(split_limit(word));
    Share share = placement.devices_of(static_cast<int>(rank));
    for (int d = share.begin; d < share.end; ++d) {
      PlacedDevice& device = placement.devices[static_cast<size_t>(d)];
      auto word = std::ranges::find_if(
          left, [&](const auto& each) { return means(each.name, device.id, ranks[rank]); });
      if (word == left.end()) continue;  // on_missing: cpu has put a CPU in its place
      device.memory_limit = word->limit;
      left.erase(word);
    }
  }
}

std::vector<MemoryPoolOptions> limits_of(std::span<const PlacedDevice> devices,
                                         const std::vector<size_t>& total,
                                         const MemoryLimit& memory_limit) {
  std::vector<MemoryPoolOptions> limits;
  for (size_t d = 0; d < devices.size(); ++d) {
    if (!devices[d].memory_limit.empty()) {
      limits.push_back({.limit = own_bytes(devices[d], total[d]),
                        .own_limit = to_word({to_string(devices[d].id), devices[d].memory_limit})});
      continue;
    }
    size_t taken = 0, sharers = 0;
    for (const PlacedDevice& other : devices) {
      if (!same_memory(other.id, devices[d].id)) continue;
      if (other.memory_limit.empty()) ++sharers;
      taken += own_bytes(other, total[d]);
    }
    MemoryPoolOptions pool{.limit = memory_limit.share(total[d], 1),
                           .sharers = static_cast<int>(sharers),
                           .beside = taken};
    if (pool.limit && taken >= *pool.limit)
      fail(Category::config,
           "memory.limit: {} for {}, but other devices have limits of {} there, which leave "
           "nothing; give each device a limit, or raise memory.limit",
           limit_bytes_text(*pool.limit), to_string(devices[d].id), limit_bytes_text(taken));
    if (pool.limit) pool.limit = (*pool.limit - taken) / sharers;
    limits.push_back(pool);
  }
  return limits;
}

}  // namespace spire
