#include "tools/devices/host_use.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "engine/doctor/system_text.h"

namespace spire::tool {

// Lines of "cpu<N> user nice system idle iowait irq softirq steal guest guest_nice" (proc(5)), of
// which user contains guest, and nice guest_nice. The first line, "cpu", is the sum.
std::vector<CoreTime> read_core_times(const std::filesystem::path& root) {
  std::vector<CoreTime> cores;
  std::ifstream file(root / "proc/stat");
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "cpu") continue;
    uint64_t time[8] = {}, idle = 0;
    CoreTime core;
    for (uint64_t& ticks : time) {
      words >> ticks;
      core.total += ticks;
    }
    idle = time[3] + time[4];
    core.busy = core.total - idle;
    cores.push_back(core);
  }
  return cores;
}

HostUse use_since(const std::vector<CoreTime>& before, const std::vector<CoreTime>& now,
                  const std::filesystem::path& root) {
  HostUse use;
  for (size_t i = 0; i < now.size() && i < before.size(); ++i) {
    auto busy = static_cast<double>(now[i].busy - std::min(now[i].busy, before[i].busy));
    auto total = static_cast<double>(now[i].total - std::min(now[i].total, before[i].total));
    use.cores.push_back(total > 0 ? std::min(1.0, busy / total) : 0);
  }
  auto memory = read_meminfo(root / "proc/meminfo");
  use.memory_total = memory["MemTotal"];
  use.memory_used = use.memory_total - std::min(use.memory_total, memory["MemAvailable"]);
  return use;
}

}  // namespace spire::tool
