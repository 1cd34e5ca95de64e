#include "engine/device/load/host_use.h"

#include <algorithm>

#include "engine/base/proc_files.h"

namespace spire {

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
