// The CPU cores this process may use, how many threads may run on them, and how they are divided
// among CPU devices and lanes.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "engine/device/device.h"

namespace spire::inline device {

// What leaves a process fewer threads than it has cores.
struct CoreLimits {
  double quota = 0.0;   // of its cgroups, in CPUs; 0: none
  int omp_threads = 0;  // OMP_NUM_THREADS; 0: not set

  // CPUs of the quota, rounded up, as whole ones that threads may use.
  int quota_threads() const;
};

struct Topology {
  std::vector<int> cores;  // logical CPU numbers: the affinity mask of the calling thread
  int online = 0;          // CPUs of the machine
  CoreLimits limits;
};
Topology discover_topology();

// The smallest CPU quota of the process's cgroup and all above it, v2 or v1, in CPUs; 0: none.
// root: where proc/self/cgroup and sys/fs/cgroup are.
double cgroup_quota(const std::filesystem::path& root = "/");

// The first number of OMP_NUM_THREADS ("4", "4,2"); 0 where there is none above zero.
int read_omp_threads(const std::string& text);

// "0-2,8" -> {0, 1, 2, 8}; empty where it is no such list.
std::vector<int> read_core_list(const std::string& text);

// Cores of the NUMA node that a PCI device ("0000:3B:00.0") is attached to; empty where the system
// does not tell. root: where sys/bus/pci is.
std::vector<int> cores_near(const std::string& pci_bus_id, const std::filesystem::path& root = "/");

// Those of `cores` that are in `wanted` too; all of them where none is.
std::vector<int> prefer_cores(const std::vector<int>& cores, const std::vector<int>& wanted);

// Cores of CPU device `index` of `count`: contiguous shares, the first ones larger by one when they
// do not divide. With more devices than cores, devices share cores.
std::vector<int> cores_of_device(const std::vector<int>& cores, int index, int count);

}  // namespace spire::inline device
