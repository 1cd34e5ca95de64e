#include "engine/base/system_limits.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <sys/resource.h>

#include <unistd.h>

namespace spire {
namespace {

namespace fs = std::filesystem;

// Tells whether the list "cpu,cpuacct" has the controller.
bool names(const std::string& controllers, std::string_view controller) {
  std::istringstream list(controllers);
  for (std::string name; std::getline(list, name, ',');) {
    if (name == controller) return true;
  }
  return false;
}

std::string limit_text(int resource) {
  rlimit limit = {};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0)
    return "an unknown number of";
  return limit.rlim_cur == RLIM_INFINITY ? "any number of" : fmt::format("{}", limit.rlim_cur);
}

// Returns the smallest pids.max of all cgroups above; nullopt if none has a number ("max").
std::optional<int64_t> max_pids() {
  std::optional<int64_t> least;
  for_each_cgroup("/", "pids", [&](const fs::path& group, CgroupVersion) {
    std::ifstream file(group / "pids.max");
    int64_t most = 0;
    if (file >> most) least = std::min(least.value_or(most), most);
  });
  return least;
}

}  // namespace

void for_each_cgroup(const fs::path& root, std::string_view controller,
                     const std::function<void(const fs::path&, CgroupVersion)>& visit) {
  // In a container the path may be the host's: its folders do not exist here.
  const fs::path mounts = root / "sys/fs/cgroup";
  auto climb = [&](const fs::path& mount, const fs::path& path, CgroupVersion version) {
    for (fs::path group = path.relative_path();; group = group.parent_path()) {
      visit(mount / group, version);
      if (group.empty()) return;
    }
  };
  // Lines of "<number>:<controllers>:<path>"; v2 is the line without controllers.
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string number, controllers, path; std::getline(groups, number, ':') &&
                                              std::getline(groups, controllers, ':') &&
                                              std::getline(groups, path);) {
    if (controllers.empty()) climb(mounts, path, CgroupVersion::v2);
    if (!names(controllers, controller)) continue;
    // A v1 mount has the name of one controller or of the whole list.
    climb(mounts / controller, path, CgroupVersion::v1);
    if (controllers != controller) climb(mounts / controllers, path, CgroupVersion::v1);
  }
}

std::string system_reason(int error) {
  // EMFILE and mostly EFBIG are limits of this process, ENFILE is that of the machine.
  std::string words = std::strerror(error);
  if (error == EMFILE)
    return fmt::format("{}: this process may have {} (ulimit -n); raise that limit", words,
                       limit_text(RLIMIT_NOFILE));
  rlimit size = {};
  if (error == EFBIG && getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY)
    return fmt::format("{}: this process may write files of {} bytes (ulimit -f); raise that limit",
                       words, size.rlim_cur);
  if (error == ENFILE) return words + ": raise the machine's limit (sysctl fs.file-max)";
  return words;
}

// EFBIG is the limit on the size of files (ulimit -f).
Category category_of(int error, Category other) {
  for (int known : {EMFILE, ENFILE, ENOSPC, EDQUOT, EFBIG})
    if (error == known) return Category::device;
  return other;
}

std::string thread_limits() {
  std::string text = fmt::format("this user may have {} threads and processes (ulimit -u)",
                                 limit_text(RLIMIT_NPROC));
  if (auto pids = max_pids()) text += fmt::format(", this cgroup {} (pids.max)", *pids);
  rlimit memory = {};
  if (getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur != RLIM_INFINITY)
    text += fmt::format(", this process {} KiB of addresses (ulimit -v)", memory.rlim_cur >> 10);
  return text + "; raise the limit, or lower data.workers and tower_threads";
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace spire
