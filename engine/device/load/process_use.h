// What this process uses of the host: CPU time by thread and memory; and the state of its cores.
// Read from /proc and /sys, whose root tests replace. Values that the system does not tell are
// empty. Nothing throws.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace spire {

// What proc(5) says of a process or a thread in its file `stat`: its name, and the numbers behind
// its state. Empty if it has ended.
struct TaskStat {
  static constexpr size_t first_time = 10;  // utime; then stime, cutime, cstime
  static constexpr size_t core = 35;        // on which it runs, or ran last

  std::string name;
  std::vector<double> numbers;  // times are in ticks
};
TaskStat read_task(const std::filesystem::path& stat);

// Returns the CPU time, in seconds, of the threads of this process by their names
// (ThreadPlace::name); threads of one name are added up. It advances in steps of 10 ms (proc(5)).
std::map<std::string, double> thread_seconds(const std::filesystem::path& root = "/");

std::optional<uint64_t> resident_bytes(const std::filesystem::path& root = "/");

struct CoreState {
  std::optional<int> mhz, max_mhz;      // means; virtual machines seldom tell
  std::optional<uint64_t> heat_events;  // sum: how often heat lowered their clocks since the boot
};
// Reads at most four of the cores, as reading a clock can disturb or delay a core.
CoreState core_state(std::span<const int> cores, const std::filesystem::path& root = "/");

}  // namespace spire
