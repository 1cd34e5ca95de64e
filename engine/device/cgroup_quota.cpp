// The CPU quota of a container or batch job, as its cgroups say it.
#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include <spire/device/topology.h>

namespace spire {
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

// A limit of any group above holds, too. In a container the path may be one of the host, of which
// only the top is mounted: groups that are not there have no limit.
template <typename Quota>
void lower(double& least, const fs::path& mount, const fs::path& path, const Quota& quota) {
  for (fs::path group = path.relative_path();; group = group.parent_path()) {
    if (auto limit = quota(mount / group)) least = least > 0 ? std::min(least, *limit) : *limit;
    if (group.empty()) return;
  }
}

bool names_cpu(const std::string& controllers) {
  std::istringstream list(controllers);
  for (std::string name; std::getline(list, name, ',');) {
    if (name == "cpu") return true;
  }
  return false;
}

}  // namespace

// Lines of "<number>:<controllers>:<path>"; v2 is number 0 with no controllers.
double cgroup_quota(const fs::path& root) {
  const fs::path mounts = root / "sys/fs/cgroup";
  double least = 0.0;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string number, controllers, path; std::getline(groups, number, ':') &&
                                              std::getline(groups, controllers, ':') &&
                                              std::getline(groups, path);) {
    if (controllers.empty()) lower(least, mounts, path, quota_v2);
    if (!names_cpu(controllers)) continue;
    for (const std::string& mount : {std::string("cpu"), controllers})  // "cpu,cpuacct"
      lower(least, mounts / mount, path, quota_v1);
  }
  return least;
}

}  // namespace spire
