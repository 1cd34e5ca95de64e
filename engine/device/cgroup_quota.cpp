// The CPU quota of a container or batch job, as its cgroups say it.
#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "engine/base/system_limits.h"
#include "engine/device/topology.h"

namespace spire::inline device {
namespace {

namespace fs = std::filesystem;

// Of one group of v2, "<quota|max> <period>" in microseconds; none: no limit.
std::optional<double> quota_v2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return {};  // "max" is no number
  return quota / period;
}

// Of one group of v1: -1 is no limit.
std::optional<double> quota_v1(const fs::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us"), period_file(group / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return {};
  return quota / period;
}

}  // namespace

double cgroup_quota(const fs::path& root) {
  double least = 0.0;
  for_each_cgroup(root, "cpu", [&](const fs::path& group, CgroupVersion version) {
    auto limit = version == CgroupVersion::v2 ? quota_v2(group) : quota_v1(group);
    if (limit) least = least > 0 ? std::min(least, *limit) : *limit;
  });
  return least;
}

}  // namespace spire::inline device
