#include "engine/device/gpu_claims.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <spire/error.h>

namespace spire::inline device {
namespace {

// Opens the file, or makes it. Another user's file may be read, and that suffices for a lock; only
// with O_CREAT would the kernel refuse it (fs.protected_regular). Returns -1 and errno on failure.
int open_or_make(const std::filesystem::path& file) {
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
  for (;;) {
    int descriptor = ::open(file.c_str(), flags);
    if (descriptor >= 0 || errno != ENOENT) return descriptor;
    descriptor = ::open(file.c_str(), flags | O_CREAT | O_EXCL, 0644);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
}

std::string program_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string name;
  std::getline(file, name);
  return name;
}

// Finds the lock's holder in /proc/locks: "1: FLOCK  ADVISORY  WRITE 4711 00:1a:1234 0 EOF".
ClaimHolder holder_of(int descriptor) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return {};
  std::string inode =
      fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev), status.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, type, mode, access, file;
    int pid = 0;
    words >> number >> type >> mode >> access >> pid >> file;
    if (type == "FLOCK" && file == inode) return {pid, program_of(pid)};
  }
  return {};
}

}  // namespace

std::string to_string(const ClaimHolder& holder) {
  if (holder.pid <= 0) return "another run";
  return fmt::format("process {}{}", holder.pid,
                     holder.name.empty() ? "" : fmt::format(" ({})", holder.name));
}

std::filesystem::path GpuClaims::shared_folder() {
  if (const char* named = std::getenv("SPIRE_LOCKS"); named && *named) return named;
  struct stat status = {};
  bool shared = ::stat("/run/lock", &status) == 0 && S_ISDIR(status.st_mode) &&
                (status.st_mode & S_IWOTH) != 0 && ::access("/run/lock", W_OK) == 0;
  return shared ? "/run/lock" : "/tmp";
}

std::filesystem::path GpuClaims::file_of(const std::string& uuid) const {
  std::string name = uuid;
  for (char& c : name) c = c == '/' ? '_' : c;  // in the UUIDs of older MIG devices
  return folder_ / fmt::format("spire-{}.lock", name);
}

std::optional<ClaimHolder> GpuClaims::claim(const std::string& uuid) {
  if (has(uuid)) return {};
  // Of a sweep that has claimed the GPU for its runs, see claim_holder.
  const char* parent = std::getenv(claim_holder);
  std::filesystem::path file = file_of(uuid);
  int descriptor = open_or_make(file);
  if (descriptor < 0) {
    fail(Category::device,
         "cannot open {}, by which runs keep apart on a GPU: {}; make the folder writable",
         file.string(), std::strerror(errno));
  }
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    files_[uuid] = descriptor;
    return {};
  }
  ClaimHolder holder = holder_of(descriptor);
  ::close(descriptor);
  bool of_parent = parent && holder.pid > 0 && std::to_string(holder.pid) == parent;
  return of_parent ? std::nullopt : std::optional(holder);
}

// The file stays: if it were removed, a process that had just opened it and one that made it anew
// would both hold a lock.
void GpuClaims::release(const std::string& uuid) {
  auto file = files_.find(uuid);
  if (file == files_.end()) return;
  ::close(file->second);
  files_.erase(file);
}

void GpuClaims::release() {
  for (const auto& [uuid, descriptor] : files_) ::close(descriptor);
  files_.clear();
}

}  // namespace spire::inline device
