#include "engine/base/system_limits.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <sys/resource.h>

#include "engine/base/cgroup.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

std::string limit_text(int resource) {
  rlimit limit = {};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0)
    return "an unknown number of";
  return limit.rlim_cur == RLIM_INFINITY ? "any number of" : fmt::format("{}", limit.rlim_cur);
}

// The smallest pids.max; nothing: none, or "max".
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

std::string system_reason(int error) {
  std::string words = std::strerror(error);
  if (error == EMFILE)
    return fmt::format("{}: this process may have {} (ulimit -n); raise that limit", words,
                       limit_text(RLIMIT_NOFILE));
  if (error == ENFILE) return words + ": raise the machine's limit (sysctl fs.file-max)";
  return words;
}

Category category_of(int error, Category other) {
  return error == EMFILE || error == ENFILE ? Category::device : other;
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

}  // namespace spire
