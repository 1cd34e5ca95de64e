#include "engine/device/load/host_use.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/crowded.h"
#include "engine/base/proc_files.h"

namespace spire {

// Lines of "cpu<N> user nice system idle iowait irq softirq steal guest guest_nice" (proc(5)), of
// which user contains guest, and nice guest_nice. The first line, "cpu", is the sum.
CoreTimes read_core_times(const std::filesystem::path& root) {
  CoreTimes cores;
  std::ifstream file(root / "proc/stat");
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line);
    int number = 0;
    words.ignore(3);  // "cpu"
    if (words.peek() == ' ' || !(words >> number)) continue;
    uint64_t time[8] = {}, idle = 0;
    CoreTime core;
    for (uint64_t& ticks : time) {
      words >> ticks;
      core.total += ticks;
    }
    idle = time[3] + time[4];
    core.busy = core.total - idle;
    core.nice = time[1];
    cores[number] = core;
  }
  return cores;
}

HostUse use_since(const CoreTimes& before, const CoreTimes& now,
                  const std::filesystem::path& root) {
  HostUse use;
  for (const auto& [number, core] : now) {
    auto then = before.find(number);
    if (then == before.end()) continue;
    auto busy = static_cast<double>(core.busy - std::min(core.busy, then->second.busy));
    auto total = static_cast<double>(core.total - std::min(core.total, then->second.total));
    use.cores[number] = total > 0 ? std::min(1.0, busy / total) : 0;
  }
  auto memory = read_meminfo(root / "proc/meminfo");
  use.memory_total = memory["MemTotal"];
  use.memory_used = use.memory_total - std::min(use.memory_total, memory["MemAvailable"]);
  return use;
}

namespace {

std::optional<double> own_ticks(const std::filesystem::path& root) {
  std::vector<double> numbers = read_task(root / "proc/self/stat").numbers;
  constexpr size_t first = TaskStat::first_time;
  if (numbers.size() < first + 4) return std::nullopt;
  return std::accumulate(&numbers[first], &numbers[first] + 4, 0.0);
}

// Below it threads are not looked at, which takes some 10 us each. A load that crowds is larger.
double noticed(size_t cores) {
  return std::max(0.25, load_share / 2 * static_cast<double>(cores));
}

}  // namespace

OtherLoad::OtherLoad(std::vector<int> cores, std::filesystem::path root)
    : cores_(std::move(cores)),
      root_(std::move(root)),
      lowered_(getpriority(PRIO_PROCESS, 0) > 0),
      before_(count()) {}

std::optional<OtherLoad::Ticks> OtherLoad::count() const {
  std::optional<double> own = own_ticks(root_);
  CoreTimes times = read_core_times(root_);
  if (!own || cores_.empty()) return std::nullopt;
  Ticks ticks;
  ticks.own = *own;
  for (int core : cores_) {
    auto found = times.find(core);
    if (found == times.end()) return std::nullopt;
    const CoreTime& time = found->second;
    ticks.busy.push_back(static_cast<double>(lowered_ ? time.busy : time.busy - time.nice));
    ticks.total += static_cast<double>(time.total);
  }
  return ticks;
}

OtherLoad::ThreadTimes OtherLoad::count_threads() const {
  ThreadTimes times;
  std::error_code error;
  std::filesystem::directory_iterator tasks(root_ / "proc/self/task", error), end;
  for (; !error && tasks != end; tasks.increment(error)) {
    std::vector<double> numbers = read_task(tasks->path() / "stat").numbers;
    if (numbers.size() <= TaskStat::core) continue;
    constexpr size_t user = TaskStat::first_time, system = user + 1;
    times[std::atoi(tasks->path().filename().c_str())] = {
        numbers[user] + numbers[system], static_cast<int>(numbers[TaskStat::core])};
  }
  return times;
}

std::optional<OtherLoad::Ticks> OtherLoad::advance() {
  std::optional<Ticks> now = count(), before = std::exchange(before_, now);
  if (!now || !before || now->total <= before->total) return std::nullopt;
  now->own -= before->own;
  now->total -= before->total;
  for (size_t c = 0; c < cores_.size(); ++c) now->busy[c] -= before->busy[c];
  return now;
}

double OtherLoad::others_of(const Ticks& ticks) const {
  double busy = std::accumulate(ticks.busy.begin(), ticks.busy.end(), 0.0);
  double share = (busy - ticks.own) / ticks.total;
  return std::clamp(share, 0.0, 1.0) * static_cast<double>(cores_.size());
}

std::optional<double> OtherLoad::read() {
  std::optional<Ticks> ticks = advance();
  return ticks ? std::optional(others_of(*ticks)) : std::nullopt;
}

// A thread that has moved counts half for the core where it was, half for the one where it is.
std::map<int, double> OtherLoad::own_ticks_by_core(const ThreadTimes& before,
                                                   const ThreadTimes& now) {
  std::map<int, double> own;
  for (const auto& [thread, time] : now) {
    auto found = before.find(thread);
    ThreadTime earlier = found == before.end() ? ThreadTime{.core = time.core} : found->second;
    own[earlier.core] += (time.ticks - earlier.ticks) / 2;
    own[time.core] += (time.ticks - earlier.ticks) / 2;
  }
  return own;
}

std::optional<std::vector<double>> OtherLoad::read_each() {
  std::optional<ThreadTimes> before = std::exchange(threads_before_, std::nullopt);
  std::optional<Ticks> ticks = advance();
  if (!ticks) return std::nullopt;
  double all = others_of(*ticks), sum = 0;
  auto count = static_cast<double>(cores_.size());
  std::vector<double> same(cores_.size(), all / count), each;
  if (all < noticed(cores_.size())) return same;
  threads_before_ = count_threads();
  if (!before) return std::nullopt;
  std::map<int, double> own = own_ticks_by_core(*before, *threads_before_);
  auto add = [](double total, const auto& core) { return total + core.second; };
  double found = std::accumulate(own.begin(), own.end(), 0.0, add);
  if (found < ticks->own / 2) return same;  // else its own load would look like that of others
  for (size_t c = 0; c < cores_.size(); ++c) {
    double others = (ticks->busy[c] - own[cores_[c]]) / (ticks->total / count);
    sum += each.emplace_back(std::clamp(others, 0.0, 1.0));
  }
  if (sum <= 0) return same;
  for (double& core : each) core *= all / sum;
  return each;
}

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
