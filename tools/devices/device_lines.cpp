#include <optional>

#include <fmt/ranges.h>

#include "engine/base/text.h"
#include "engine/device/gpu_requirements.h"
#include "engine/device/topology.h"
#include "engine/observe/formatting.h"
#include "tools/devices/devices.h"

namespace spire {
namespace {

std::string text_of(const char* name, const LibraryVersion& library) {
  std::string built = fmt::format("this build: {}", to_string(library.built));
  if (!library.found && library.why_not.empty())
    return fmt::format("{} not opened, as there is no GPU ({})", name, built);
  if (!library.found) return fmt::format("{} not found ({})", name, built);
  std::string found = fmt::format("{} {}", name, to_string(library.found));
  return library.found == library.built ? found : fmt::format("{} ({})", found, built);
}

std::string driver_text(const CudaVersions& versions) {
  if (!versions.driver_cuda) return "no driver";
  return fmt::format("driver {} (CUDA {})", versions.driver.empty() ? "unknown" : versions.driver,
                     major_minor(versions.driver_cuda));
}

// Returns "driver 580.65.06 (CUDA 13.0)", "cuDNN 9.19.0", ..., "kernels for 9.0 and later".
std::vector<std::string> version_texts(const CudaVersions& versions) {
  return {fmt::format("toolkit {}", major_minor(versions.toolkit)),
          driver_text(versions),
          text_of("cuBLAS", versions.cublas),
          text_of("cuDNN", versions.cudnn),
          text_of("NCCL", versions.nccl),
          versions.nvrtc ? fmt::format("NVRTC {}", major_minor(versions.nvrtc)) : "no NVRTC",
          fmt::format("kernels for {}", describe_architectures(versions.architectures))};
}

// Returns a line per finding: "problem  " for what ends a run on these GPUs, "note     " for what
// makes it slower or is untested; each with its remedy.
std::vector<std::string> finding_lines(const CudaVersions& versions,
                                       const std::vector<CudaDeviceInfo>& gpus) {
  std::vector<std::string> lines;
  for (const std::string& text : version_problems(versions)) lines.push_back("problem  " + text);
  for (const CudaDeviceInfo& gpu : gpus) {
    if (auto text = code_problem(versions, gpu)) lines.push_back("problem  " + *text);
  }
  for (const std::string& text : version_doubts(versions)) lines.push_back("note     " + text);
  for (const CudaDeviceInfo& gpu : gpus) {
    if (auto text = dtype_problem(DType::bf16, gpu)) lines.push_back("note     " + *text);
  }
  return lines;
}

std::string gpu_line(const CudaDeviceInfo& gpu) {
  return fmt::format("cuda:{}  {}, {:.1f} GiB, compute {}.{}, PCI {}, {}", gpu.index, gpu.name,
                     static_cast<double>(gpu.total_bytes) / (1 << 30), gpu.compute_major,
                     gpu.compute_minor, gpu.pci_bus_id, gpu.uuid);
}

std::string memory_text(const std::optional<GpuMemory>& memory) {
  if (!memory) return "its memory is unknown";
  return fmt::format("{}, {} used, {} free", bytes_text(memory->total), bytes_text(memory->used),
                     bytes_text(memory->free));
}

// "process 4711 (python) 39.1 GiB"
std::string process_text(const GpuProcess& process) {
  std::string text = fmt::format("process {}", process.pid);
  if (!process.name.empty()) text += fmt::format(" ({})", printable(process.name));
  if (process.bytes) text += fmt::format(" {}", bytes_text(*process.bytes));
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

std::string cores_line() {
  Topology topology = discover_topology();
  const CoreLimits& limits = topology.limits;
  return fmt::format(
      "cpu     {} of {} cores: {}{}{}", topology.cores.size(), topology.online,
      core_ranges(topology.cores),
      limits.omp_threads > 0 ? fmt::format(" (OMP_NUM_THREADS={})", limits.omp_threads) : "",
      limits.quota > 0 ? fmt::format(" (cgroup quota {:.1f} CPUs)", limits.quota) : "");
}

std::vector<std::string> gpu_lines() {
  CudaStatus cuda = discover_cuda();
  std::vector<std::string> lines;
  if (cuda.devices.empty()) lines.push_back(fmt::format("cuda    none: {}", cuda.why_none));
  for (const CudaDeviceInfo& gpu : cuda.devices) lines.push_back(gpu_line(gpu));
  auto versions = cuda_versions();
  if (cuda.devices.empty() || !versions) return lines;
  lines.push_back(fmt::format("with    {}", fmt::join(version_texts(*versions), ", ")));
  for (std::string& line : finding_lines(*versions, cuda.devices)) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> cuda_software_lines() {
  CudaStatus cuda = discover_cuda();
  std::string gpus =
      cuda.why_none.empty() ? fmt::format("{} devices", cuda.devices.size()) : cuda.why_none;
  std::vector<std::string> lines = {
      fmt::format("cuda: {}", cuda.built ? gpus : "not in this build")};
  if (auto versions = cuda_versions())
    for (const std::string& text : version_texts(*versions)) lines.push_back("  " + text);
  return lines;
}

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
