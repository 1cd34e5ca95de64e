// Host resources that this process may use: cores, their division and locks on them; and memory.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.h"

namespace spire {

struct CoreLimits {     // limits that may allow fewer threads than there are cores
  double quota = 0.0;   // CPU quota of the process's cgroups, in CPUs; 0 if there is none
  int omp_threads = 0;  // OMP_NUM_THREADS; 0 if it is not set

  int quota_threads() const;  // the quota rounded up, at least 1
};

struct Topology {
  std::vector<int> cores;  // logical CPU numbers in the calling thread's affinity mask
  int online = 0;          // number of logical CPUs of the machine
  CoreLimits limits;
};
Topology discover_topology();

// Returns the smallest CPU quota of the process's cgroups (v1 or v2), in CPUs; 0 if there is none.
// root, here and below: the folder that contains proc and sys; tests replace it.
double cgroup_quota(const std::filesystem::path& root = "/");

// read_omp_threads() parses OMP_NUM_THREADS: "4,2" is 4; returns 0 if it is no positive number.
// read_core_list() parses a list of cores, "0-2,8"; returns an empty list if it is malformed.
int read_omp_threads(const std::string& text);
std::vector<int> read_core_list(const std::string& text);
std::string core_ranges(const std::vector<int>& cores);  // "0-2,8"
std::vector<int> each_once(std::vector<int> cores);      // ascending

// Returns the cores of the NUMA node of a PCI device ("0000:3B:00.0"); empty if unknown.
std::vector<int> cores_near(const std::string& pci_bus_id, const std::filesystem::path& root = "/");

// Returns the cores that are in both lists; all of `cores` if there are none.
std::vector<int> prefer_cores(const std::vector<int>& cores, const std::vector<int>& wanted);

// Returns the cores of CPU device `index` of `count`: contiguous shares, of which the first may
// have one core more. If there are more devices than cores, devices share cores.
std::vector<int> cores_of_device(const std::vector<int>& cores, int index, int count);

// Host-wide locks on cores, so that two runs do not pin lanes (their computing threads) to the same
// cores. A lock is a bound abstract Unix socket name (unix(7)), which all users see and which ends
// with the process. Containers with separate networks do not see each other's locks.
class CoreLocks {
 public:
  CoreLocks() = default;
  ~CoreLocks() { release(); }
  CoreLocks(const CoreLocks&) = delete;
  CoreLocks& operator=(const CoreLocks&) = delete;

  // Locks all of these cores, or none. Returns why it failed, or "". space: prefix of the names.
  std::string acquire(std::span<const int> cores, std::string_view space = "spire");
  void release();

 private:
  std::vector<int> sockets_;
};

struct HostLimit {             // in bytes
  size_t total = 0, free = 0;  // free: what this process may still allocate
  std::string name;            // such as "the cgroup's memory.max (/sys/fs/cgroup/job/memory.max)"
};

// Returns the machine's memory, swap included, then every limit on it: memory.max and memory.high
// of the process's cgroups (v1: memory.limit_in_bytes), `ulimit -v` and `ulimit -d`.
std::vector<HostLimit> host_limits(const std::filesystem::path& root = "/");

struct HostSpace {             // what host_limits() leave, in bytes
  size_t total = 0, free = 0;  // the smallest total and the smallest free of all limits
  std::string limited_by;      // the limit with the least free: "the machine's memory, 15.6 GiB"
};
HostSpace host_space(const std::filesystem::path& root = "/");

}  // namespace spire
