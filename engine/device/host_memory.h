// The host's memory that this process may have: of all that limits it, what leaves the least.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace spire::inline device {

// One thing that limits memory.
struct HostLimit {
  size_t total = 0, free = 0;  // bytes; free: that this process may still take
  std::string name;            // "the cgroup's memory.max (/sys/fs/cgroup/job/memory.max)"
};

// The machine's memory with its swap space, first; then each limit there is: memory.max and
// memory.high of the process's cgroups (v1: memory.limit_in_bytes), `ulimit -v`, `ulimit -d`. Of a
// cgroup's memory the cached files count as free: the kernel drops them where programs need it.
// root: where proc and sys are.
std::vector<HostLimit> host_limits(const std::filesystem::path& root = "/");

// The least of the totals; the least that is free, and a text that names the limit: "the machine's
// memory, 15.6 GiB".
struct HostSpace {
  size_t total = 0, free = 0;
  std::string limited_by;
};
HostSpace host_space(const std::filesystem::path& root = "/");

}  // namespace spire::inline device
