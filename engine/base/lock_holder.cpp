#include "engine/base/lock_holder.h"

#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fmt/format.h>

namespace spire {
namespace {

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
