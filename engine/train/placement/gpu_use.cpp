#include "engine/train/placement/gpu_use.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "engine/base/text.h"

namespace spire {
namespace {

constexpr double free_share = 0.9;  // of an idle GPU's memory
constexpr int busy_percent = 10;    // utilisation from which a GPU is busy

// A MIG device is told by its UUID, as all of a GPU have its PCI bus id.
bool is_on(const GpuProcess& process, const CudaDeviceInfo& gpu, const HostGpu& host) {
  auto index = mig_index(host, gpu.uuid);
  if (!index) return true;
  const MigDevice& mig = host.mig_devices[*index];
  return !process.gpu_instance || !mig.gpu_instance ||
         (process.gpu_instance == mig.gpu_instance &&
          process.compute_instance == mig.compute_instance);
}

std::string name_of(const GpuProcess& process) {
  return fmt::format("process {}{}", process.pid,
                     process.name.empty() ? "" : fmt::format(" ({})", printable(process.name)));
}

// "process 4711 (python) of ann with 3.0 GiB"
std::string describe(const GpuProcess& process) {
  std::string text = name_of(process);
  if (process.user_id) text += " of " + user_name(*process.user_id);
  if (process.bytes) text += " with " + bytes_text(*process.bytes);
  return text;
}

// Sets `busy` by the first of the others' processes, and `users` by all. Memory of this process
// counts as free.
void add_processes(const CudaDeviceInfo& gpu, const HostGpu& host, const GpuMonitor& monitor,
                   GpuUse& use) {
  auto processes = monitor.processes(host.number);
  if (!processes) {
    use.busy = "the driver does not tell which processes use it";
    return;
  }
  std::vector<std::string> users;
  for (const GpuProcess& process : *processes) {
    if (!is_on(process, gpu, host)) continue;
    if (process.pid == ::getpid()) {
      use.free += process.bytes.value_or(0);
      continue;
    }
    if (users.empty()) use.busy = name_of(process) + " computes";
    users.push_back(describe(process));
  }
  use.users = fmt::format("{}", fmt::join(users, ", "));
}

std::string memory_problem(const GpuUse& use) {
  if (static_cast<double>(use.free) >= free_share * static_cast<double>(use.total)) return "";
  return fmt::format("{:.1f} of {:.1f} GiB are used",
                     static_cast<double>(use.total - use.free) / (1 << 30),
                     static_cast<double>(use.total) / (1 << 30));
}

}  // namespace

GpuUse look_at(const CudaDeviceInfo& gpu, const GpuMonitor& monitor) {
  GpuUse use;
  const HostGpu* host = monitor.find(gpu.pci_bus_id);
  if (!host) {
    use.busy = "NVML does not list it";
    return use;
  }
  GpuState state = monitor.state(host->number);
  use.percent = state.compute_percent.value_or(0);
  auto memory = memory_of(state, mig_index(*host, gpu.uuid));
  if (memory) {
    use.total = memory->total;
    use.free = memory->free;
  }
  if (state.condition != GpuCondition::works) {
    use.works = false;
    use.busy = state.problem;
  } else if (!memory) {
    use.busy = "the driver does not tell how much of its memory is free";
  } else {
    add_processes(gpu, *host, monitor, use);
    if (use.busy.empty()) use.busy = memory_problem(use);
  }
  return use;
}

int percent_of(const CudaDeviceInfo& gpu, const GpuMonitor& monitor) {
  const HostGpu* host = monitor.find(gpu.pci_bus_id);
  return host ? monitor.state(host->number).compute_percent.value_or(0) : 0;
}

void add_percent(int percent, GpuUse& use) {
  use.percent = percent;
  if (use.busy.empty() && percent >= busy_percent) use.busy = fmt::format("{} % used", percent);
}

void add_claim(const CudaDeviceInfo& gpu, GpuClaims& claims, GpuUse& use) {
  auto holder = claims.claim(gpu.uuid);
  if (!holder) return;
  if (use.busy.empty()) use.busy = to_string(*holder) + " has claimed it";
  if (use.users.empty()) use.users = to_string(*holder);
}

std::string others_on(const GpuUse& use) {
  std::string memory = memory_problem(use);
  if (use.users.empty() && memory.empty() && use.percent < busy_percent) return "";
  std::string text = use.users.empty() ? "others" : use.users;
  if (use.total == 0) return text;
  return text + fmt::format(" ({} of {} are free)", bytes_text(use.free), bytes_text(use.total));
}

bool is_less_loaded(const GpuUse& a, const GpuUse& b) {
  auto rank = [](const GpuUse& use) {
    return std::tuple(!use.works, !use.busy.empty(), use.percent / busy_percent,
                      -static_cast<double>(use.free));
  };
  return rank(a) < rank(b);
}

}  // namespace spire
