// Limits of the system (ulimit, cgroup) in words: their values here and how to raise them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include <spire/error.h>

namespace spire {

// Returns strerror(error); for an exhausted limit on open files also its name, value and remedy.
std::string system_reason(int error);

// Returns Category::device for an error number of an exhausted limit on open files, else `other`.
Category category_of(int error, Category other);

// Lists the limits that may have refused a thread or a process: "this user may have 63 threads and
// processes (ulimit -u), ..."
std::string thread_limits();

enum class CgroupVersion : uint8_t { v1, v2 };

// Visits the folders of this process's cgroup and of all above it that may limit `controller`
// ("cpu", "memory", "pids"): each limit applies. A folder may not exist, as in a container. root:
// the parent of proc/self/cgroup and sys/fs/cgroup.
void for_each_cgroup(
    const std::filesystem::path& root, std::string_view controller,
    const std::function<void(const std::filesystem::path& folder, CgroupVersion)>& visit);

}  // namespace spire
