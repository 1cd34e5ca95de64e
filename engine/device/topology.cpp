#include <spire/device/topology.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace spire {
namespace {

// cgroup v2 writes "<quota|max> <period>", v1 two files; microseconds. 0 when there is no limit.
double cgroup_quota() {
  std::string quota;
  double period = 0;
  if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file >> quota >> period) {
    return quota == "max" || period <= 0 ? 0.0 : std::stod(quota) / period;
  }
  double quota_us = 0;
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  bool read = (quota_file >> quota_us) && (period_file >> period);
  return read && quota_us > 0 && period > 0 ? quota_us / period : 0.0;
}

}  // namespace

Topology discover_topology() {
  Topology topology;
  topology.online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) topology.cores.push_back(cpu);
    }
  }
  if (topology.cores.empty()) topology.cores.push_back(0);
  topology.quota = cgroup_quota();
  if (topology.quota > 0) {
    auto limit = static_cast<size_t>(std::max(1.0, std::ceil(topology.quota)));
    if (limit < topology.cores.size()) topology.cores.resize(limit);
  }
  return topology;
}

std::vector<int> cores_of_device(const std::vector<int>& cores, int index, int count) {
  int total = static_cast<int>(cores.size());
  if (count >= total) return {cores[static_cast<size_t>(index % total)]};
  int begin = index * (total / count) + std::min(index, total % count);
  int size = total / count + (index < total % count ? 1 : 0);
  return {cores.begin() + begin, cores.begin() + begin + size};
}

}  // namespace spire
