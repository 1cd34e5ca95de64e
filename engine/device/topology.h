// Host resources that this process may use: cores, their division and locks on them, and memory.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.h"

namespace spire::inline device {

struct CoreLimits {     // that leave fewer threads than cores
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

// Returns the smallest CPU quota of the process's cgroups (v1 or v2), in CPUs; 0: none.
double cgroup_quota(const std::filesystem::path& root = "/");  // root: folder of proc and sys

// Parse OMP_NUM_THREADS ("4,2" is 4; 0: no positive number) and "0-2,8" (empty: no such list).
int read_omp_threads(const std::string& text);
std::vector<int> read_core_list(const std::string& text);

// Returns the cores near a PCI device ("0000:3B:00.0"), of its NUMA node; empty: unknown.
std::vector<int> cores_near(const std::string& pci_bus_id, const std::filesystem::path& root = "/");

// Returns the cores that are also in `wanted`, or all `cores` if none is.
std::vector<int> prefer_cores(const std::vector<int>& cores, const std::vector<int>& wanted);

// Returns the cores of CPU device `index` of `count`: contiguous shares, the first ones larger by
// one where needed. With more devices than cores, devices share cores.
std::vector<int> cores_of_device(const std::vector<int>& cores, int index, int count);

// Host-wide locks on cores, so that two runs do not pin lanes to the same ones: bound abstract
// names of Unix sockets (unix(7)), which work between all users and end with the process.
// Containers with separate networks do not see each other's.
class CoreLocks {
 public:
  CoreLocks() = default;
  ~CoreLocks() { release(); }
  CoreLocks(const CoreLocks&) = delete;
  CoreLocks& operator=(const CoreLocks&) = delete;

  // Locks all of these cores, or none. Returns why it fails, or "". space: prefix of the names.
  std::string acquire(std::span<const int> cores, std::string_view space = "spire");
  void release();

 private:
  std::vector<int> sockets_;
};

struct HostLimit {             // in bytes
  size_t total = 0, free = 0;  // free: what this process may still allocate
  std::string name;            // "the cgroup's memory.max (/sys/fs/cgroup/job/memory.max)"
};

// Returns the machine's memory with swap, then every limit: memory.max and memory.high of the
// process's cgroups (v1: memory.limit_in_bytes), `ulimit -v`, `ulimit -d`.
std::vector<HostLimit> host_limits(const std::filesystem::path& root = "/");

struct HostSpace {             // the tightest of these limits
  size_t total = 0, free = 0;  // the least of the totals, the least of the free
  std::string limited_by;      // limit with the least free memory: "the machine's memory, 15.6 GiB"
};
HostSpace host_space(const std::filesystem::path& root = "/");

}  // namespace spire::inline device
