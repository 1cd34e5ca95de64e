// The control groups of this process, in which containers and batch systems keep what a job may
// have.
#pragma once
#include <filesystem>
#include <functional>
#include <string_view>

namespace spire {

enum class CgroupVersion : uint8_t { v1, v2 };

// Folders of the process's group and of all above it that may limit what the controller ("cpu",
// "memory") counts: a limit of any of them holds. Some may not be there: in a container the path
// may be one of the host, of which only the top is mounted. root: where proc/self/cgroup and
// sys/fs/cgroup are.
void for_each_cgroup(
    const std::filesystem::path& root, std::string_view controller,
    const std::function<void(const std::filesystem::path& folder, CgroupVersion)>& visit);

}  // namespace spire
