// CPU cores of this process: discovery, division among devices, and locks for pinned lanes.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.h"

namespace spire::inline device {

// Limits that leave a process fewer threads than it has cores.
struct CoreLimits {
  double quota = 0.0;   // CPU quota of its cgroups, in CPUs; 0: none
  int omp_threads = 0;  // OMP_NUM_THREADS; 0: not set

  int quota_threads() const;  // the quota rounded up, at least 1
};

struct Topology {
  std::vector<int> cores;  // logical CPU numbers in the calling thread's affinity mask
  int online = 0;          // CPUs of the machine
  CoreLimits limits;
};
Topology discover_topology();

// Returns the smallest CPU quota of the process's cgroup and all above it (v1 or v2), in CPUs; 0:
// none. root: the folder of proc/self/cgroup and sys/fs/cgroup.
double cgroup_quota(const std::filesystem::path& root = "/");

// Parse OMP_NUM_THREADS ("4,2" is 4; 0: no positive number) and "0-2,8" (empty: no such list).
int read_omp_threads(const std::string& text);
std::vector<int> read_core_list(const std::string& text);

// Returns the cores of the NUMA node of a PCI device ("0000:3B:00.0"); empty if the system does not
// say. root: the folder of sys/bus/pci.
std::vector<int> cores_near(const std::string& pci_bus_id, const std::filesystem::path& root = "/");

// Returns the cores that are also in `wanted`, or all `cores` if none is.
std::vector<int> prefer_cores(const std::vector<int>& cores, const std::vector<int>& wanted);

// Returns the cores of CPU device `index` of `count`: contiguous shares, the first ones larger by
// one if they do not divide. With more devices than cores, devices share cores.
std::vector<int> cores_of_device(const std::vector<int>& cores, int index, int count);

// Host-wide locks on cores, so that two runs with the same cores do not both pin lanes to them. A
// lock is a bound abstract name of a Unix socket (unix(7)): it works between all users, needs no
// directory and ends with the process. Containers with separate networks do not see each other's.
class CoreLocks {
 public:
  CoreLocks() = default;
  ~CoreLocks() { release(); }
  CoreLocks(const CoreLocks&) = delete;
  CoreLocks& operator=(const CoreLocks&) = delete;

  // Locks all of these cores in addition to those it has, or none. Returns why it fails, or "".
  // space: prefix of the names; tests use their own.
  std::string acquire(std::span<const int> cores, std::string_view space = "spire");
  void release();

 private:
  std::vector<int> sockets_;
};

}  // namespace spire::inline device
