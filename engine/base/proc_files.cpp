#include "engine/base/proc_files.h"

#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fmt/format.h>

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

// Returns the value behind "mnt_id:" of the open file; empty if it is not told.
std::string mount_of(int descriptor, const std::filesystem::path& proc) {
  std::ifstream info(proc / fmt::format("self/fdinfo/{}", descriptor));
  for (std::string key, value; info >> key >> value;)
    if (key == "mnt_id:") return value;
  return "";
}

// Returns "259:2", the device of a mounted file system: "24 1 259:2 / / rw ...".
std::string device_of(const std::string& mount, const std::filesystem::path& proc) {
  std::ifstream mounts(proc / "self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, device;
    words >> id >> parent >> device;
    if (id == mount) return device;
  }
  return "";
}

// The list of locks names a file by inode and the device of its file system. stat() tells another
// device on btrfs, where each subvolume has a number of its own, and on overlays.
std::string listed_name(int descriptor, const struct stat& status,
                        const std::filesystem::path& proc) {
  unsigned upper = major(status.st_dev), lower = minor(status.st_dev);
  char colon = ':';
  if (std::string device = device_of(mount_of(descriptor, proc), proc); !device.empty())
    std::istringstream(device) >> upper >> colon >> lower;
  return fmt::format("{:02x}:{:02x}:{}", upper, lower, status.st_ino);
}

}  // namespace

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<uint64_t> read_number(const fs::path& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

std::map<std::string, uint64_t> read_meminfo(const fs::path& path) {
  std::map<std::string, uint64_t> bytes;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    int node = 0;
    words >> name;
    if (name == "Node") words >> node >> name;
    uint64_t kib = 0;
    if (name.ends_with(':') && words >> kib) bytes[name.substr(0, name.size() - 1)] = kib << 10;
  }
  return bytes;
}

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

// A line: "1: FLOCK  ADVISORY  WRITE 4711 00:1a:1234 0 EOF"; of one who waits: "1: -> FLOCK ...".
std::optional<int> flock_holder(int descriptor, const std::filesystem::path& proc) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  std::string name = listed_name(descriptor, status, proc);
  std::ifstream locks(proc / "locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, type, mode, access, file;
    int pid = 0;
    words >> number >> type >> mode >> access >> pid >> file;
    if (type == "FLOCK" && file == name) return pid;
  }
  return std::nullopt;
}

}  // namespace spire
