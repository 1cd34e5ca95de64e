#include "engine/base/system.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <sys/resource.h>
#include <system_error>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/proc_files.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

std::string limit_text(int resource) {
  rlimit limit = {};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0)
    return "an unknown number of";
  return limit.rlim_cur == RLIM_INFINITY ? "any number of" : fmt::format("{}", limit.rlim_cur);
}

// Returns the smallest pids.max of all cgroups above; nullopt if none has a number ("max").
std::optional<uint64_t> max_pids() {
  std::optional<uint64_t> least;
  for_each_cgroup("/", "pids", [&](const fs::path& group, CgroupVersion) {
    if (auto most = read_number(group / "pids.max")) least = std::min(least.value_or(*most), *most);
  });
  return least;
}

}  // namespace

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

// The loader knows a program only by the word that started it.
fs::path own_file() {
  Dl_info info{};
  std::error_code error;
  if (::dladdr(reinterpret_cast<void*>(&own_file), &info) && info.dli_fname) {
    fs::path file = fs::absolute(info.dli_fname, error).lexically_normal();
    bool is_path = std::string_view(info.dli_fname).find('/') != std::string_view::npos;
    if (is_path && fs::exists(file, error)) return file;
  }
  return fs::read_symlink("/proc/self/exe", error);
}

}  // namespace spire
