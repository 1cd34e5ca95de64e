#include "engine/train/placement/accumulation.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/text.h"

namespace spire {
namespace {

// Number of towers that a lane of the device runs one after another.
int64_t in_a_row(const PlacedDevice& device) {
  int64_t towers = device.towers.size(), lanes = std::max(1, device.lanes);
  return (towers + lanes - 1) / lanes;
}

}  // namespace

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
