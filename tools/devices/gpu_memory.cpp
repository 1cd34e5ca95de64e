#include <fmt/ranges.h>

#include "engine/base/text.h"
#include "engine/observe/formatting.h"
#include "tools/devices/devices.h"

namespace spire {
namespace {

std::string text_of(uint64_t bytes) {
  return bytes_text(static_cast<int64_t>(bytes));
}

std::string memory_text(const std::optional<GpuMemory>& memory) {
  if (!memory) return "its memory is unknown";
  return fmt::format("{}, {} used, {} free", text_of(memory->total), text_of(memory->used),
                     text_of(memory->free));
}

// "process 4711 (python) 39.1 GiB"
std::string process_text(const GpuProcess& process) {
  std::string text = fmt::format("process {}", process.pid);
  if (!process.name.empty()) text += fmt::format(" ({})", printable(process.name));
  if (process.bytes) text += fmt::format(" {}", text_of(*process.bytes));
  return text;
}

// A MIG device has the processes of its instances, a GPU without MIG all.
std::string users_text(const std::optional<std::vector<GpuProcess>>& processes,
                       const MigDevice* mig) {
  if (!processes) return "the driver does not tell who uses it";
  std::vector<std::string> users;
  for (const GpuProcess& process : *processes) {
    bool here = !mig || (process.gpu_instance == mig->gpu_instance &&
                         process.compute_instance == mig->compute_instance);
    if (here) users.push_back(process_text(process));
  }
  return users.empty() ? "nobody computes on it" : fmt::format("{}", fmt::join(users, ", "));
}

// "NVIDIA H200, PCI 0000:3b:00.0, GPU-1b2c...", as far as the GPU told it.
std::string identity(const HostGpu& gpu) {
  std::vector<std::string> parts;
  if (!gpu.name.empty()) parts.push_back(printable(gpu.name));
  if (!gpu.pci_bus_id.empty()) parts.push_back("PCI " + gpu.pci_bus_id);
  if (!gpu.uuid.empty()) parts.push_back(gpu.uuid);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::vector<std::string> gpu_memory_lines(const GpuMonitor& monitor) {
  std::vector<std::string> lines;
  for (const HostGpu& gpu : monitor.gpus()) {
    GpuState state = monitor.state(gpu.number);
    std::string start = fmt::format("gpu {:<4}{}", gpu.number, identity(gpu));
    if (!gpu.uuid.empty()) start += "; ";
    if (state.condition != GpuCondition::works) {
      lines.push_back(start + state.problem);
      continue;
    }
    auto processes = monitor.processes(gpu.number);
    std::string rest = gpu.mig_devices.empty()
                           ? fmt::format(": {}", users_text(processes, nullptr))
                           : fmt::format(", in {} MIG devices", gpu.mig_devices.size());
    lines.push_back(fmt::format("{}{}{}", start, memory_text(state.memory), rest));
    for (size_t m = 0; m < gpu.mig_devices.size(); ++m) {
      const MigDevice& mig = gpu.mig_devices[m];
      auto memory = m < state.mig_memory.size() ? state.mig_memory[m] : mig.memory;
      lines.push_back(fmt::format("{:8}MIG {} ({}, {}): {}: {}", "", mig.number, mig.name, mig.uuid,
                                  memory_text(memory), users_text(processes, &mig)));
    }
  }
  return lines;
}

}  // namespace spire
