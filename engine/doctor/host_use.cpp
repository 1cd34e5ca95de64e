#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include <spire/commands/host_use.h>

#include "engine/doctor/system_text.h"

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

}  // namespace spire
