#include "engine/run/machine/process_limits.h"

#include <limits>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <fmt/format.h>

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t mib = uint64_t{1} << 20;
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

}  // namespace spire
