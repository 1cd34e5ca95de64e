#include "engine/base/cgroup.h"

#include <fstream>
#include <sstream>
#include <string>

namespace spire {
namespace {

namespace fs = std::filesystem;

bool names(const std::string& controllers, std::string_view controller) {
  std::istringstream list(controllers);
  for (std::string name; std::getline(list, name, ',');) {
    if (name == controller) return true;
  }
  return false;
}

}  // namespace

// Lines of "<number>:<controllers>:<path>"; v2 is number 0 with no controllers.
void for_each_cgroup(const fs::path& root, std::string_view controller,
                     const std::function<void(const fs::path&, CgroupVersion)>& visit) {
  const fs::path mounts = root / "sys/fs/cgroup";
  auto climb = [&](const fs::path& mount, const fs::path& path, CgroupVersion version) {
    for (fs::path group = path.relative_path();; group = group.parent_path()) {
      visit(mount / group, version);
      if (group.empty()) return;
    }
  };
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string number, controllers, path; std::getline(groups, number, ':') &&
                                              std::getline(groups, controllers, ':') &&
                                              std::getline(groups, path);) {
    if (controllers.empty()) climb(mounts, path, CgroupVersion::v2);
    if (!names(controllers, controller)) continue;
    climb(mounts / controller, path, CgroupVersion::v1);
    if (controllers != controller) climb(mounts / controllers, path, CgroupVersion::v1);
  }
}

}  // namespace spire
