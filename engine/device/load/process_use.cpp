#include "engine/device/load/process_use.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/proc_files.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// The mean of a file's numbers over the cores; empty if a core lacks it.
std::optional<double> mean_of(std::span<const int> cores, const fs::path& root, const char* file) {
  double sum = 0;
  for (int core : cores) {
    auto number = read_number(root / fmt::format("sys/devices/system/cpu/cpu{}/{}", core, file));
    if (!number) return std::nullopt;
    sum += static_cast<double>(*number);
  }
  return cores.empty() ? std::nullopt : std::optional(sum / static_cast<double>(cores.size()));
}

std::optional<int> mhz_of(std::optional<double> khz) {
  return khz ? std::optional(static_cast<int>(std::lround(*khz / 1000))) : std::nullopt;
}

}  // namespace

// A line is "17 (lane 0) S ...", where the name may hold blanks and brackets.
TaskStat read_task(const fs::path& stat) {
  std::string line = first_line(stat), state;
  size_t begin = line.find('('), end = line.rfind(')');
  if (begin == line.npos || end == line.npos || end < begin) return {};
  TaskStat task{line.substr(begin + 1, end - begin - 1), {}};
  std::istringstream words(line.substr(end + 1));
  words >> state;
  for (double number = 0; words >> number;) task.numbers.push_back(number);
  return task;
}

std::map<std::string, double> thread_seconds(const fs::path& root) {
  std::map<std::string, double> seconds;
  std::error_code error;
  auto per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  fs::directory_iterator tasks(root / "proc/self/task", error), end;
  for (; !error && tasks != end; tasks.increment(error)) {
    TaskStat task = read_task(tasks->path() / "stat");
    constexpr size_t user = TaskStat::first_time, system = user + 1;
    if (task.numbers.size() > system)
      seconds[task.name] += (task.numbers[user] + task.numbers[system]) / per_second;
  }
  return seconds;
}

std::optional<uint64_t> resident_bytes(const fs::path& root) {
  std::ifstream file(root / "proc/self/statm");
  uint64_t size = 0, resident = 0;  // pages
  if (!(file >> size >> resident)) return std::nullopt;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

CoreState core_state(std::span<const int> cores, const fs::path& root) {
  cores = cores.first(std::min<size_t>(cores.size(), 4));
  auto heat = mean_of(cores, root, "thermal_throttle/core_throttle_count");
  auto count = static_cast<double>(cores.size());
  return {mhz_of(mean_of(cores, root, "cpufreq/scaling_cur_freq")),
          mhz_of(mean_of(cores, root, "cpufreq/cpuinfo_max_freq")),
          heat ? std::optional(static_cast<uint64_t>(std::llround(*heat * count))) : std::nullopt};
}

}  // namespace spire
