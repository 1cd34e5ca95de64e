#include "engine/run/machine/limits.h"

#include <algorithm>
#include <limits>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "engine/base/proc_files.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t mib = uint64_t{1} << 20, enough = uint64_t{1} << 30;  // enough: of memory, disk
// NCCL keeps buffers of some 10 MiB there for each connection between two GPUs of a host.
constexpr uint64_t shm_wanted = 512 * mib, shm_free_wanted = 128 * mib;
constexpr uint64_t files_wanted = 1024;

uint64_t soft_limit(int resource) {
  rlimit limit = {};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return RLIM_INFINITY;
  return limit.rlim_cur;
}

double as_value(uint64_t limit) {
  return limit == RLIM_INFINITY ? std::numeric_limits<double>::infinity()
                                : static_cast<double>(limit);
}

Finding check_files(const ProcessLimits& limits) {
  std::string seen = limits.files == RLIM_INFINITY
                         ? "any number of files may be open"
                         : fmt::format("{} files may be open (ulimit -n)", limits.files);
  Finding finding{"open_files", FindingLevel::ok, std::move(seen)};
  finding.values = {{"limit", as_value(limits.files)}};
  if (limits.files >= files_wanted) return finding;
  return warning(
      std::move(finding),
      fmt::format("data of many files and runs of many processes need more; type: ulimit -n {}",
                  files_wanted));
}

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
  if (least->free >= enough) return finding;
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

std::optional<FileSystemSpace> space_at(const fs::path& folder) {
  struct statvfs space {};
  if (statvfs(folder.c_str(), &space) != 0) return std::nullopt;
  return FileSystemSpace{uint64_t{space.f_blocks} * space.f_frsize,
                         uint64_t{space.f_bavail} * space.f_frsize};
}

ProcessLimits read_process_limits(const fs::path& root) {
  std::error_code error;
  fs::directory_iterator adapters(root / "sys/class/infiniband", error);
  return {.shm = space_at(root / "dev/shm"),
          .memlock = soft_limit(RLIMIT_MEMLOCK),
          .files = soft_limit(RLIMIT_NOFILE),
          .infiniband = !error && adapters != fs::directory_iterator{}};
}

Finding check_shm(const ProcessLimits& limits, int gpus) {
  Finding finding{"shm", FindingLevel::ok, "there is no /dev/shm"};
  bool small = true;
  if (limits.shm) {
    const auto& [total, free] = *limits.shm;
    finding.seen =
        fmt::format("{} of {} in /dev/shm are free", limit_text(free), limit_text(total));
    finding.values = {{"total_bytes", static_cast<double>(total)},
                      {"free_bytes", static_cast<double>(free)}};
    small = total < shm_wanted || free < shm_free_wanted;
  }
  if (!small || gpus < 2) return finding;
  return warning(
      std::move(finding),
      "NCCL connects GPUs of a host through it, and fails where it is full: 1 GiB is enough for "
      "8 GPUs (docker run --shm-size=1g, in Kubernetes an emptyDir of medium Memory)");
}

Finding check_memlock(const ProcessLimits& limits) {
  Finding finding{"memlock", FindingLevel::ok,
                  fmt::format("{} may be locked (ulimit -l)", limit_text(limits.memlock))};
  finding.values = {{"limit_bytes", as_value(limits.memlock)}};
  if (limits.memlock == RLIM_INFINITY) return finding;
  if (!limits.infiniband) {
    finding.seen += "; no InfiniBand, which would need more";
    return finding;
  }
  return warning(std::move(finding),
                 "InfiniBand and RoCE lock their buffers, and NCCL or MPI fail without them; type: "
                 "ulimit -l unlimited (docker run --ulimit memlock=-1, or memlock in limits.conf)");
}

Findings check_process_limits(const ProcessLimits& limits, int gpus) {
  return {check_shm(limits, gpus), check_memlock(limits), check_files(limits)};
}

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
  if (swap.used < enough) return finding;
  return warning(
      std::move(finding),
      "a run whose memory is swapped out crawls; see which programs fill the memory (top, then M), "
      "or start the run elsewhere");
}

Findings check_memory_state(const MemoryState& memory) {
  return {check_limits(memory.limits), check_swap(memory.swap),
          check_huge_pages(memory.huge_pages)};
}

fs::path existing_folder(fs::path folder) {
  std::error_code error;
  folder = fs::absolute(folder, error);
  while (!fs::is_directory(folder, error) && folder.has_relative_path())
    folder = folder.parent_path();
  return folder;
}

Finding check_disk_space(const fs::path& folder, const FileSystemSpace& space,
                         const std::optional<CheckpointNeed>& need) {
  Finding finding{"disk_space", FindingLevel::ok,
                  fmt::format("{} of {} are free for {}", limit_text(space.free),
                              limit_text(space.total), folder.string())};
  finding.values = {{"free_bytes", static_cast<double>(space.free)},
                    {"total_bytes", static_cast<double>(space.total)}};
  if (!need) {
    if (space.free >= enough) return finding;
    return warning(std::move(finding),
                   "checkpoints may not fit; make room, or set output to another disk");
  }
  uint64_t all = need->bytes * static_cast<uint64_t>(need->kept + 1);
  finding.seen += fmt::format("; a checkpoint takes {}, {} of them {}", limit_text(need->bytes),
                              need->kept + 1, limit_text(all));
  if (need->there > 0) finding.seen += fmt::format(", {} are there", limit_text(need->there));
  finding.values.emplace_back("checkpoint_bytes", static_cast<double>(need->bytes));
  uint64_t missing = std::max(need->bytes, all - std::min(all, need->there));
  if (space.free >= missing) return finding;
  finding.level = space.free < need->bytes ? FindingLevel::fail : FindingLevel::warn;
  finding.remedy = fmt::format(
      "make room, set output to another disk, or lower checkpoint.keep_last; {} are kept, and one "
      "more while it is written",
      need->kept);
  return finding;
}

}  // namespace spire
