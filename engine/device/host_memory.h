// Host memory that this process may use, under all limits that apply to it.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace spire::inline device {

// One limit of memory, in bytes.
struct HostLimit {
  size_t total = 0, free = 0;  // free: what this process may still allocate
  std::string name;            // "the cgroup's memory.max (/sys/fs/cgroup/job/memory.max)"
};

// Returns the machine's memory with swap, then every limit: memory.max and memory.high of the
// process's cgroups (v1: memory.limit_in_bytes), `ulimit -v`, `ulimit -d`. Cached files of a cgroup
// count as free: the kernel drops them on demand. root: the folder of proc and sys.
std::vector<HostLimit> host_limits(const std::filesystem::path& root = "/");

// The tightest of these limits.
struct HostSpace {
  size_t total = 0, free = 0;  // the least of the totals, the least of the free
  std::string limited_by;      // limit with the least free memory: "the machine's memory, 15.6 GiB"
};
HostSpace host_space(const std::filesystem::path& root = "/");

}  // namespace spire::inline device
