#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/proc_files.h"
#include "engine/device/topology.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// Reads the number after a name at the start of a line, "MemAvailable:  123 kB". None: no line.
std::optional<size_t> number_of(const fs::path& file, std::string_view name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream rest(line.substr(name.size()));
    size_t number = 0;
    if (rest >> number) return number;
  }
  return std::nullopt;
}

size_t kib_of(const fs::path& file, std::string_view name) {
  return number_of(file, name).value_or(0) << 10;
}

size_t physical_memory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t rest_of(size_t total, size_t used) {
  return total - std::min(total, used);
}

// File names of a cgroup version.
struct CgroupFiles {
  std::initializer_list<const char*> limits;
  const char* usage;
  std::initializer_list<const char*> cache;  // lines of memory.stat; v1 sums groups in "total_"
};
const CgroupFiles files_v2 = {
    {"memory.max", "memory.high"}, "memory.current", {"active_file ", "inactive_file "}};
const CgroupFiles files_v1 = {{"memory.limit_in_bytes"},
                              "memory.usage_in_bytes",
                              {"total_active_file ", "total_inactive_file "}};

// machine: bytes of the machine. v1 writes a huge number for "no limit", so a limit that large is
// skipped.
void add_cgroup(const fs::path& group, const CgroupFiles& files, size_t machine,
                std::vector<HostLimit>& limits) {
  for (const char* file : files.limits) {
    auto total = read_number(group / file);
    if (!total || *total >= machine) continue;
    size_t used = read_number(group / files.usage).value_or(0), cached = 0;
    for (const char* name : files.cache)
      cached += number_of(group / "memory.stat", name).value_or(0);
    limits.push_back({*total, rest_of(*total, rest_of(used, cached)),
                      fmt::format("the cgroup's {} ({})", file, (group / file).string())});
  }
}

// Of a limit of the process this much is left to what no plan knows: code that oneDNN generates,
// libraries that are loaded late, stacks of threads. oneDNN 2.6 crashes where it gets no memory.
constexpr size_t kept_back = 128 << 20;

// Adds a soft limit, which is the one that the kernel enforces. `limits` is in bytes, `status` in
// KiB; "unlimited" is no number.
void add_ulimit(const fs::path& self, std::string_view limit, std::string_view used,
                const char* name, std::vector<HostLimit>& limits) {
  auto total = number_of(self / "limits", limit);
  if (!total) return;
  limits.push_back({*total, rest_of(*total, kib_of(self / "status", used) + kept_back), name});
}

std::string size_text(size_t bytes) {
  double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

}  // namespace

// Cached files of a cgroup count as free: the kernel drops them on demand.
std::vector<HostLimit> host_limits(const fs::path& root) {
  const fs::path machine = root / "proc/meminfo", self = root / "proc/self";
  size_t all = kib_of(machine, "MemTotal:"), available = kib_of(machine, "MemAvailable:");
  if (all == 0) all = physical_memory();
  if (available == 0) available = all;  // kernels before 3.14 do not say
  std::vector<HostLimit> limits = {
      {all, available + kib_of(machine, "SwapFree:"), "the machine's memory"}};
  for_each_cgroup(root, "memory", [&](const fs::path& group, CgroupVersion version) {
    add_cgroup(group, version == CgroupVersion::v2 ? files_v2 : files_v1, all, limits);
  });
  add_ulimit(self, "Max address space", "VmSize:", "ulimit -v", limits);
  add_ulimit(self, "Max data size", "VmData:", "ulimit -d", limits);
  return limits;
}

HostSpace host_space(const fs::path& root) {
  std::vector<HostLimit> limits = host_limits(root);
  HostSpace memory;
  memory.total = std::ranges::min_element(limits, {}, &HostLimit::total)->total;
  auto tightest = std::ranges::min_element(limits, {}, &HostLimit::free);
  memory.free = tightest->free;
  memory.limited_by = fmt::format("{}, {}", tightest->name, size_text(tightest->total));
  return memory;
}

}  // namespace spire
