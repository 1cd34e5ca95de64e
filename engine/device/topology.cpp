#include "engine/device/topology.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/proc_files.h"
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/device/device.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// Reads cpu.max of a v2 group: "<quota|max> <period>" in microseconds. None: no limit.
std::optional<double> quota_v2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return {};  // "max" is no number
  return quota / period;
}

// Reads a v1 group, where a quota of -1 is no limit.
std::optional<double> quota_v1(const fs::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us"), period_file(group / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return {};
  return quota / period;
}

// Returns a socket bound to the abstract name, or -1 with errno set.
int bind_name(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A first byte of zero makes the name abstract. It has no terminator: the length passed to bind
  // ends it.
  size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  // CLOEXEC: a child program must not keep the lock.
  int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), size) == 0) return descriptor;
  int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

}  // namespace

// The quota of a process's group and of every group above it apply, so the least counts.
double cgroup_quota(const fs::path& root) {
  double least = 0.0;
  for_each_cgroup(root, "cpu", [&](const fs::path& group, CgroupVersion version) {
    auto limit = version == CgroupVersion::v2 ? quota_v2(group) : quota_v1(group);
    if (limit) least = least > 0 ? std::min(least, *limit) : *limit;
  });
  return least;
}

// The cap keeps an absurd quota from overflowing int.
int CoreLimits::quota_threads() const {
  return std::max(1, static_cast<int>(std::ceil(std::min(quota, 1e6))));
}

int read_omp_threads(const std::string& text) {
  std::istringstream words(text);
  int threads = 0;
  return (words >> threads) && threads > 0 ? threads : 0;
}

Topology discover_topology() {
  Topology topology;
  topology.online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  topology.cores = allowed_cores();
  topology.limits.quota = cgroup_quota();
  if (const char* threads = std::getenv("OMP_NUM_THREADS"))
    topology.limits.omp_threads = read_omp_threads(threads);
  return topology;
}

std::vector<int> read_core_list(const std::string& text) {
  std::vector<int> cores;
  std::istringstream list(text);
  for (std::string range; std::getline(list, range, ',');) {
    std::istringstream words(range);
    int first = 0, last = 0;
    char dash = 0;
    if (!(words >> first)) return {};
    if (!(words >> dash >> last)) last = first;
    if (first < 0 || last < first || last > 1 << 20) return {};
    for (int core = first; core <= last; ++core) cores.push_back(core);
  }
  return cores;
}

std::string core_ranges(const std::vector<int>& cores) {
  std::string text;
  for (size_t i = 0; i < cores.size();) {
    size_t end = i + 1;
    while (end < cores.size() && cores[end] == cores[end - 1] + 1) ++end;
    text += text.empty() ? "" : ",";
    text += end - i > 1 ? fmt::format("{}-{}", cores[i], cores[end - 1]) : std::to_string(cores[i]);
    i = end;
  }
  return text;
}

std::vector<int> each_once(std::vector<int> cores) {
  std::ranges::sort(cores);
  auto repeated = std::ranges::unique(cores);
  cores.erase(repeated.begin(), repeated.end());
  return cores;
}

std::vector<int> cores_near(const std::string& pci_bus_id, const std::filesystem::path& root) {
  std::string address = normal_pci_bus_id(pci_bus_id);
  if (address.empty()) return {};
  return read_core_list(first_line(root / "sys/bus/pci/devices" / address / "local_cpulist"));
}

std::vector<int> prefer_cores(const std::vector<int>& cores, const std::vector<int>& wanted) {
  std::vector<int> both;
  std::copy_if(cores.begin(), cores.end(), std::back_inserter(both), [&](int core) {
    return std::find(wanted.begin(), wanted.end(), core) != wanted.end();
  });
  return both.empty() ? cores : both;
}

std::vector<int> cores_of_device(const std::vector<int>& cores, int index, int count) {
  int total = static_cast<int>(cores.size());
  if (count >= total) return {cores[static_cast<size_t>(index % total)]};
  // The first total % count devices have one core more.
  int begin = index * (total / count) + std::min(index, total % count);
  int size = total / count + (index < total % count ? 1 : 0);
  return {cores.begin() + begin, cores.begin() + begin + size};
}

std::string CoreLocks::acquire(std::span<const int> cores, std::string_view space) {
  size_t before = sockets_.size();
  for (int core : cores) {
    int descriptor = bind_name(fmt::format("{}/core/{}", space, core));
    if (descriptor >= 0) {
      sockets_.push_back(descriptor);
      continue;
    }
    // All or none: give back those locked by this call.
    int error = errno;
    for (; sockets_.size() > before; sockets_.pop_back()) close(sockets_.back());
    if (error == EADDRINUSE) return fmt::format("another Spire process uses core {}", core);
    return fmt::format("cores cannot be locked: {}", std::strerror(error));
  }
  return "";
}

void CoreLocks::release() {
  for (int descriptor : sockets_) close(descriptor);
  sockets_.clear();
}

namespace {

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
  memory.limited_by = fmt::format("{}, {}", tightest->name, bytes_text(tightest->total));
  return memory;
}

}  // namespace spire
