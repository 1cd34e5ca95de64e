#include "engine/train/pin_lanes.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace spire::inline training {
namespace {

std::vector<int> wanted_cores(const Placement& placement) {
  std::vector<int> wanted;
  for (const auto& cores : placement.lane_cores)
    wanted.insert(wanted.end(), cores.begin(), cores.end());
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

bool has_gpus(const Placement& placement) {
  return placement.lanes.front().device.kind == DeviceKind::cuda;
}

// Why `auto` leaves the lanes to the kernel; empty: it pins them.
std::string reason_against(const RankPlace& place, const Placement& placement,
                           const std::vector<int>& wanted, CoreLocks& locks,
                           std::string_view space) {
  if (has_gpus(placement)) return "the GPUs compute";
  if (static_cast<int>(place.allowed_cores().size()) >= place.machine_cores)
    return "the process may use the whole machine";
  return locks.take(wanted, space);
}

void pin(Placement& placement) {
  for (size_t lane = 0; lane < placement.lanes.size(); ++lane)
    placement.lanes[lane].cores = placement.lane_cores[lane];
}

}  // namespace

std::string pin_lanes(RunConfig::Pin asked, const RankPlace& place, Placement& placement,
                      CoreLocks& locks, std::string_view space) {
  if (asked == RunConfig::Pin::no) return "not pinned (pin: false)";
  std::vector<int> wanted = wanted_cores(placement);
  if (asked == RunConfig::Pin::automatic) {
    std::string against = reason_against(place, placement, wanted, locks, space);
    if (!against.empty()) return "not pinned: " + against;
  } else {
    locks.take(wanted, space);  // so that others leave them alone; they are taken in any case
  }
  pin(placement);
  return fmt::format(
      "pinned to {}{}", core_ranges(wanted),
      asked == RunConfig::Pin::automatic ? ": they were given to this process" : " (pin: true)");
}

std::string describe_use(const Placement& placement, const RankPlace& place) {
  auto allowed = static_cast<int>(place.allowed_cores().size());
  std::vector<std::string> limits;
  if (place.limits.omp_threads > 0 && place.limits.omp_threads < allowed)
    limits.push_back(fmt::format("OMP_NUM_THREADS={}", place.limits.omp_threads));
  if (place.limits.quota > 0 && place.limits.quota_threads() < allowed)
    limits.push_back(fmt::format("cgroup quota {:.1f} CPUs", place.limits.quota));
  std::string text =
      fmt::format("{} of {}", place.max_threads(), std::max(place.machine_cores, allowed));
  if (!limits.empty()) text += fmt::format(" ({})", fmt::join(limits, ", "));
  if (has_gpus(placement) && placement.helper_cores.size() < place.allowed_cores().size())
    text += fmt::format(", those near the GPUs: {}", core_ranges(placement.helper_cores));
  return text;
}

std::string describe_ranks(const std::vector<std::string>& texts) {
  bool same = std::all_of(texts.begin(), texts.end(),
                          [&](const std::string& text) { return text == texts.front(); });
  if (same) return (texts.size() > 1 ? "each rank " : "") + texts.front();
  std::vector<std::string> lines;
  for (size_t rank = 0; rank < texts.size(); ++rank)
    lines.push_back(fmt::format("rank {} {}", rank, texts[rank]));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace spire::inline training
