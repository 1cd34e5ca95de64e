#include "engine/train/memory/memory_limits.h"

#include <algorithm>
#include <cmath>

#include "engine/base/fail.h"
#include "engine/checkpoint/checkpoint_file.h"
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
           bytes_text(*pool.limit), to_string(devices[d].id), bytes_text(taken));
    if (pool.limit) pool.limit = (*pool.limit - taken) / sharers;
    limits.push_back(pool);
  }
  return limits;
}

namespace {

// Returns the bytes, rounded up, as `memory.limit` takes them: "23.5GiB".
std::string limit_word(size_t bytes) {
  bool large = bytes >= size_t{1} << 30;
  double units = static_cast<double>(bytes) / (large ? 0x1p30 : 0x1p20);
  return fmt::format("{:.1f}{}", std::ceil(units * 10) / 10, large ? "GiB" : "MiB");
}

// Returns all that the run needs, as far as is known: of each kind the plan, or what is in use and
// what was asked for.
MemoryUse wanted(const MemoryShortage& shortage) {
  MemoryUse now = shortage.in_use, all = shortage.planned;
  now += shortage.asked;
  for (MemoryKind kind : all_memory_kinds) all[kind] = std::max(all[kind], now[kind]);
  return all;
}

// Returns the bytes that the run can have in all; none where the system gives no number.
std::optional<size_t> obtainable_bytes(const MemoryShortage& shortage) {
  auto left = shortage.left();
  return left ? std::optional(*left + shortage.in_use.total()) : std::nullopt;
}

// Returns the limit that would suffice where only that stands against the run.
size_t enough_for(const MemoryShortage& shortage) {
  return wanted(shortage).total() * static_cast<size_t>(shortage.sharers) + shortage.beside;
}

// True where the device has room for everything, and only memory.limit stands against it.
bool limit_is_all(const MemoryShortage& shortage) {
  if (!shortage.limit) return false;
  size_t device = shortage.free ? *shortage.free + shortage.in_use.total() : shortage.total;
  return enough_for(shortage) <= device;
}

// Returns the samples a tower that fit, by the activations of a sample; 0: not even one.
int64_t fitting_batch(const MemoryShortage& shortage, int64_t batch_size) {
  auto room = obtainable_bytes(shortage);
  MemoryUse all = wanted(shortage);
  size_t of_samples = all[MemoryKind::activations];
  size_t fixed = all.total() - of_samples;
  if (!room || of_samples == 0 || fixed >= *room) return 0;
  auto fits = static_cast<double>(*room - fixed) / static_cast<double>(of_samples);
  return static_cast<int64_t>(static_cast<double>(batch_size) * std::min(fits, 1.0));
}

std::string smaller_batch(const MemoryShortage& shortage, int64_t batch_size) {
  int64_t fits = std::min(fitting_batch(shortage, batch_size), batch_size - 1);
  std::string to = fits > 0 ? fmt::format("to about {}", fits) : fmt::format("from {}", batch_size);
  return fmt::format("lower batch_size {} (raise towers to keep the global batch)", to);
}

// "cannot allocate 1.0 GiB for activations", "cannot allocate 9.3 GiB, most of it for activations".
std::string asked_text(const MemoryUse& asked) {
  MemoryKind most = asked.largest();
  bool alone = asked[most] == asked.total();
  return fmt::format("cannot allocate {}{} for {}", bytes_text(asked.total()),
                     alone ? "" : ", most of it", to_string(most));
}

// "memory.limit allows 30.0 GiB", "its own limit, cuda:0:8GiB in devices, allows 8.0 GiB".
std::string limit_text(const MemoryShortage& shortage) {
  std::string name = shortage.own_limit.empty()
                         ? "memory.limit"
                         : fmt::format("its own limit, {} in devices,", shortage.own_limit);
  std::string share =
      shortage.sharers > 1 ? fmt::format(" for each of {} devices", shortage.sharers) : "";
  return fmt::format("{} allows {}{}", name, bytes_text(*shortage.limit), share);
}

std::string left_text(const MemoryShortage& shortage) {
  if (shortage.limit) {
    size_t used = shortage.in_use.total();
    size_t within = *shortage.limit - std::min(*shortage.limit, used);
    if (!shortage.free || within <= *shortage.free)
      return fmt::format("{}, of which {} is in use", limit_text(shortage), bytes_text(used));
  }
  if (!shortage.free)
    return fmt::format("the host does not provide more of its {}", bytes_text(shortage.total));
  if (!shortage.limited_by.empty())
    return fmt::format("{} are free of {}", bytes_text(*shortage.free), shortage.limited_by);
  return fmt::format("{} of its {} are free", bytes_text(*shortage.free),
                     bytes_text(shortage.total));
}

TextTable table_of(const MemoryShortage& shortage) {
  bool planned = shortage.planned.total() > 0;
  auto row = [&](std::string_view title, size_t plan, size_t use) {
    std::vector<std::string> cells = {std::string(title), planned ? bytes_text(plan) : "-",
                                      bytes_text(use)};
    return cells;
  };
  TextTable table = {{"", "planned", "in use"}};
  for (MemoryKind kind : all_memory_kinds) {
    if (wanted(shortage)[kind] == 0) continue;
    table.push_back(row(to_string(kind), shortage.planned[kind], shortage.in_use[kind]));
  }
  table.push_back(row("total", shortage.planned.total(), shortage.in_use.total()));
  return table;
}

// True where a snapshot was asked for and everything else fits.
bool snapshot_is_all(const MemoryShortage& shortage) {
  auto room = obtainable_bytes(shortage);
  MemoryUse all = wanted(shortage);
  size_t pieces = checkpoint_piece * sizeof(float), of_checkpoint = all[MemoryKind::checkpoint];
  return room && of_checkpoint > pieces && all.total() - of_checkpoint + pieces <= *room;
}

// What the run can do with the memory that it has. In order: remedies that cost nothing, then one
// for the kind that takes most.
std::string remedy_within(const MemoryShortage& shortage, const MemoryRemedies& remedies) {
  if (remedies.can_skip_snapshot && snapshot_is_all(shortage))
    return "set checkpoint.snapshot: auto, checkpoints are then written without a copy";
  MemoryKind most = wanted(shortage).largest();
  if (most == MemoryKind::optimizer) {
    if (remedies.sharded) return "use more devices, or an optimizer with less state";
    return remedies.devices > shortage.pools
               ? "set strategy: sharded, which divides the optimizer's state among the devices"
               : "use more devices with strategy: sharded, or an optimizer with less state";
  }
  if (most == MemoryKind::weights || most == MemoryKind::communication)
    return "use a smaller model, or a device with more memory";
  if (most == MemoryKind::gradients)
    return "use more devices: with fewer towers on each, they store fewer sums of gradients";
  // What is left is activations, workspace or a snapshot that is needed.
  if (remedies.can_recompute)
    return "set memory.recompute: blocks, which gives the same bits with less memory";
  if (remedies.batch_size > 1) return smaller_batch(shortage, remedies.batch_size);
  return "use a smaller model, or a device with more memory";
}

}  // namespace

// Who set a limit meant it: what fits comes first.
std::string remedy(const MemoryShortage& shortage, const MemoryRemedies& remedies) {
  std::string within = remedy_within(shortage, remedies);
  if (!limit_is_all(shortage)) return within;
  std::string enough = limit_word(enough_for(shortage));
  return fmt::format("{}; {} would be enough as it is, and the device has that much", within,
                     shortage.own_limit.empty()
                         ? "memory.limit: " + enough
                         : fmt::format("{}:{}", to_string(shortage.device), enough));
}

std::string out_of_memory_text(const MemoryShortage& shortage, const MemoryRemedies& remedies) {
  std::string device = to_string(shortage.device);
  if (shortage.pools > 1) device += fmt::format(" ({} logical devices)", shortage.pools);
  std::string text = fmt::format("{}: {}; {}; {}", device, asked_text(shortage.asked),
                                 left_text(shortage), remedy(shortage, remedies));
  for (const std::string& line : aligned(table_of(shortage))) text += "\n" + line;
  return text;
}

}  // namespace spire
