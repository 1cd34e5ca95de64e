#include "engine/device/gpu_claims.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/proc_files.h"

namespace spire {
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
  return first_line(fmt::format("/proc/{}/comm", pid));
}

constexpr size_t longest_text = 300;

// For those who cannot see this process. Without the right to write, the file stays as it is.
void sign(const std::filesystem::path& file, int descriptor) {
  int writable = ::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (writable < 0) return;
  struct stat own = {}, found = {};
  bool same = ::fstat(descriptor, &own) == 0 && ::fstat(writable, &found) == 0 &&
              own.st_ino == found.st_ino && own.st_dev == found.st_dev;
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  std::time_t now = std::time(nullptr);
  std::tm utc = {};
  ::gmtime_r(&now, &utc);
  std::string text = fmt::format("{}, process {}, since {:%FT%TZ}\n", host, ::getpid(), utc);
  if (same && ::ftruncate(writable, 0) == 0)
    static_cast<void>(::write(writable, text.data(), text.size()) < 0);
  ::close(writable);
}

// Returns the first line of what the holder, or another user, wrote: as printable text.
std::string written_in(int descriptor) {
  std::string text(longest_text, '\0');
  ssize_t bytes = ::pread(descriptor, text.data(), text.size(), 0);
  text.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  text.resize(std::min(text.size(), text.find('\n')));
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

ClaimHolder holder_of(int descriptor) {
  if (auto pid = flock_holder(descriptor)) return {.pid = *pid, .name = program_of(*pid)};
  return {.pid = 0, .name = "", .written = written_in(descriptor)};
}

}  // namespace

std::string to_string(const ClaimHolder& holder) {
  if (holder.pid <= 0)
    return fmt::format(
        "a run in another container or on another host{}",
        holder.written.empty() ? "" : "; its lock file was last written by " + holder.written);
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
  if (uuid.empty() || has(uuid)) return {};
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
    sign(file, descriptor);
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

}  // namespace spire
