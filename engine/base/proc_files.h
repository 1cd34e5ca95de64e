// Reads small text files of /proc and /sys.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace spire {

// Returns the first line of a file; empty if it cannot be read.
std::string first_line(const std::filesystem::path& path);

// Reads a file of one number; none if it is missing, or has a word such as "max".
std::optional<uint64_t> read_number(const std::filesystem::path& path);

// Reads a file of lines "MemTotal:  123 kB" (/proc/meminfo) or "Node 0 MemTotal:  123 kB" and
// returns the bytes by name. Lines without a unit, such as HugePages_Total, are also taken as kB.
// Empty if the file is missing or has another form.
std::map<std::string, uint64_t> read_meminfo(const std::filesystem::path& path);

enum class CgroupVersion : uint8_t { v1, v2 };

// Visits the folders of this process's cgroup and of all cgroups above it that may limit
// `controller` ("cpu", "memory", "pids"); all of these limits apply. Some visited folders do not
// exist, for example in a container. root: "/", or in tests a folder with proc and sys/fs/cgroup.
void for_each_cgroup(
    const std::filesystem::path& root, std::string_view controller,
    const std::function<void(const std::filesystem::path& folder, CgroupVersion)>& visit);

// Finds which process holds a lock on a file, in the system's list (/proc/locks); takes no lock
// itself. Returns the PID of a process that holds an flock(2) lock on an open file. Returns none if
// no process that we can see holds one: processes in other PID namespaces and, on NFS, on other
// hosts are not listed, and nothing is listed without /proc. proc: another folder, for tests.
std::optional<int> flock_holder(int descriptor, const std::filesystem::path& proc = "/proc");

}  // namespace spire
