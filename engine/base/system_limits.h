// Limits of the operating system (ulimit, cgroup), as text for messages: values and remedies.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include <spire/error.h>

namespace spire {

// Returns strerror(error); for EMFILE and ENFILE (too many open files) it adds the limit to raise.
std::string system_reason(int error);

// Returns Category::device for EMFILE and ENFILE, else `other`.
Category category_of(int error, Category other);

// Lists the limits that may have refused a thread or a process: "this user may have 63 threads and
// processes (ulimit -u), ..."
std::string thread_limits();

enum class CgroupVersion : uint8_t { v1, v2 };

// Visits the folders of this process's cgroup and of all cgroups above it that may limit
// `controller` ("cpu", "memory", "pids"); all of these limits apply. Some visited folders do not
// exist, for example in a container. root: "/", or in tests a folder with proc and sys/fs/cgroup.
void for_each_cgroup(
    const std::filesystem::path& root, std::string_view controller,
    const std::function<void(const std::filesystem::path& folder, CgroupVersion)>& visit);

}  // namespace spire
