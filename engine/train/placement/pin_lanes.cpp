// The lanes' cores. Pinning saves migrations on cores that no other process uses, and halves the
// speed on cores that another one does.
#include <algorithm>

#include <fmt/ranges.h>

#include "engine/train/placement/placement.h"

namespace spire {
namespace {

// Lanes may share cores where there are few; each core is locked once.
std::vector<int> wanted_cores(const Placement& placement) {
  std::vector<int> wanted;
  for (const auto& cores : placement.lane_cores)
    wanted.insert(wanted.end(), cores.begin(), cores.end());
  return each_once(std::move(wanted));
}

bool has_gpus(const Placement& placement) {
  return placement.lanes.front().device.kind == DeviceKind::cuda;
}

// Returns why `auto` leaves the lanes to the kernel; empty: it pins them.
std::string reason_against(const RankHardware& hardware, const Placement& placement,
                           const std::vector<int>& wanted, CoreLocks& locks,
                           std::string_view space) {
  if (has_gpus(placement)) return "the GPUs compute";
  if (static_cast<int>(hardware.allowed_cores().size()) >= hardware.machine_cores)
    return "the process may use the whole machine";
  return locks.acquire(wanted, space);
}

void pin(Placement& placement) {
  for (size_t lane = 0; lane < placement.lanes.size(); ++lane)
    placement.lanes[lane].cores = placement.lane_cores[lane];
}

}  // namespace

std::string pin_lanes(RunConfig::Pin asked, const RankHardware& hardware, Placement& placement,
                      CoreLocks& locks, std::string_view space) {
  if (asked == RunConfig::Pin::no) return "not pinned (pin: false)";
  std::vector<int> wanted = wanted_cores(placement);
  if (asked == RunConfig::Pin::automatic) {
    std::string against = reason_against(hardware, placement, wanted, locks, space);
    if (!against.empty()) return "not pinned: " + against;
  } else {
    locks.acquire(wanted, space);  // so that others leave them alone; they are taken in any case
  }
  pin(placement);
  return fmt::format(
      "pinned to {}{}", core_ranges(wanted),
      asked == RunConfig::Pin::automatic ? ": they were given to this process" : " (pin: true)");
}

std::string describe_use(const Placement& placement, const RankHardware& hardware) {
  auto allowed = static_cast<int>(hardware.allowed_cores().size());
  std::vector<std::string> limits;
  if (hardware.limits.omp_threads > 0 && hardware.limits.omp_threads < allowed)
    limits.push_back(fmt::format("OMP_NUM_THREADS={}", hardware.limits.omp_threads));
  // Limits that change nothing are left out.
  if (hardware.limits.quota > 0 && hardware.limits.quota_threads() < allowed)
    limits.push_back(fmt::format("cgroup quota {:.1f} CPUs", hardware.limits.quota));
  std::string text =
      fmt::format("{} of {}", hardware.max_threads(), std::max(hardware.machine_cores, allowed));
  if (!limits.empty()) text += fmt::format(" ({})", fmt::join(limits, ", "));
  if (has_gpus(placement) && placement.helper_cores.size() < hardware.allowed_cores().size())
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

}  // namespace spire
