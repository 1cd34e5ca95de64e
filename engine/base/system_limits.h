// Finds the cgroups that limit this process. engine/base/system.h tells a user of limits that were
// hit.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include <spire/error.h>

#include "engine/base/system.h"

namespace spire {

enum class CgroupVersion : uint8_t { v1, v2 };

// Visits the folders of this process's cgroup and of all cgroups above it that may limit
// `controller` ("cpu", "memory", "pids"); all of these limits apply. Some visited folders do not
// exist, for example in a container. root: "/", or in tests a folder with proc and sys/fs/cgroup.
void for_each_cgroup(
    const std::filesystem::path& root, std::string_view controller,
    const std::function<void(const std::filesystem::path& folder, CgroupVersion)>& visit);

}  // namespace spire
