#include "engine/run/machine/memory_state.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/proc_files.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t enough_memory = uint64_t{1} << 30;

// The kernel writes all words and brackets the one in force: "always [madvise] never".
std::string huge_pages(const fs::path& root) {
  std::string line = first_line(root / "sys/kernel/mm/transparent_hugepage/enabled");
  size_t begin = line.find('['), end = line.find(']');
  return begin < end && end != line.npos ? line.substr(begin + 1, end - begin - 1) : "";
}

Finding check_limits(const std::vector<HostLimit>& limits) {
  auto least = std::ranges::min_element(limits, {}, &HostLimit::free);
  Finding finding{"memory", FindingLevel::ok,
                  fmt::format("{} are free of {}, {}", limit_text(least->free), least->name,
                              limit_text(least->total))};
  finding.values = {{"free_bytes", static_cast<double>(least->free)},
                    {"total_bytes", static_cast<double>(least->total)}};
  if (least->free >= enough_memory) return finding;
  return warning(
      std::move(finding),
      "runs that need more end with exit code 6; end other programs, raise the limit, or see "
      "trainer plan for what a run needs");
}

Finding check_huge_pages(const std::string& mode) {
  if (mode.empty()) return {"huge_pages", FindingLevel::ok, "the kernel does not tell"};
  Finding finding{"huge_pages", FindingLevel::ok, "transparent huge pages: " + mode};
  if (mode != "never") return finding;
  return warning(std::move(finding),
                 "arenas then lie in pages of 4 KiB, which are slower; as root: echo madvise > "
                 "/sys/kernel/mm/transparent_hugepage/enabled");
}

}  // namespace

SwapState read_swap(const fs::path& root) {
  auto bytes = read_meminfo(root / "proc/meminfo");
  uint64_t total = bytes["SwapTotal"];
  return {.total = total,
          .used = total - std::min(total, bytes["SwapFree"]),
          .memory_total = bytes["MemTotal"],
          .memory_available = bytes["MemAvailable"]};
}

MemoryState read_memory_state(const fs::path& root) {
  return {host_limits(root), read_swap(root), huge_pages(root)};
}

Finding check_swap(const SwapState& swap) {
  if (swap.total == 0) return {"swap", FindingLevel::ok, "no swap space"};
  Finding finding{"swap", FindingLevel::ok,
                  fmt::format("{} of {} of swap space are in use", limit_text(swap.used),
                              limit_text(swap.total))};
  finding.values = {{"total_bytes", static_cast<double>(swap.total)},
                    {"used_bytes", static_cast<double>(swap.used)}};
  // Some pages of idle programs are always there.
  if (swap.used < enough_memory) return finding;
  return warning(
      std::move(finding),
      "a run whose memory is swapped out crawls; see which programs fill the memory (top, then M), "
      "or start the run elsewhere");
}

Findings check_memory_state(const MemoryState& memory) {
  return {check_limits(memory.limits), check_swap(memory.swap),
          check_huge_pages(memory.huge_pages)};
}

}  // namespace spire
