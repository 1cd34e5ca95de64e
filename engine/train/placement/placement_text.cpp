// What is said of a placement.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/text.h"
#include "engine/train/placement/placement.h"

namespace spire {
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
