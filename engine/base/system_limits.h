// Limits of the system (ulimit, cgroup) in words: their values here and how to raise them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include <spire/error.h>

namespace spire {

// Returns strerror(error); for an exhausted file limit also its name, value and remedy, so that the
// user does not look for a fault in the file.
std::string system_reason(int error);

// Returns Category::device if the error number means that a limit on open files was reached, since
// the same file would open under a higher limit; otherwise `other`.
Category category_of(int error, Category other);

// Returns "this user may have 63 threads and processes (ulimit -u), ...": the limits that may have
// refused a thread or a process, and a remedy.
std::string thread_limits();

enum class CgroupVersion : uint8_t { v1, v2 };

// Visits the folders of this process's cgroup and of all above it that may limit what `controller`
// ("cpu", "memory", "pids") counts: the limit of each of them holds. Some may not exist: in a
// container the path may be the host's. root: the parent of proc/self/cgroup and sys/fs/cgroup.
void for_each_cgroup(
    const std::filesystem::path& root, std::string_view controller,
    const std::function<void(const std::filesystem::path& folder, CgroupVersion)>& visit);

}  // namespace spire
