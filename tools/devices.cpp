// trainer devices: what `devices:` in a config may name on this machine.
#include <fmt/ranges.h>

#include <spire/error.h>

#include "engine/device/gpu_requirements.h"
#include "engine/device/topology.h"
#include "engine/train/placement.h"
#include "tools/commands.h"
#include "tools/gpu_versions.h"
#include "tools/streams.h"

namespace spire::tool {

namespace {

void print_cpu(const Topology& topology) {
  const CoreLimits& limits = topology.limits;
  print_result(
      "cpu     {} of {} cores: {}{}{}\n", topology.cores.size(), topology.online,
      core_ranges(topology.cores),
      limits.omp_threads > 0 ? fmt::format(" (OMP_NUM_THREADS={})", limits.omp_threads) : "",
      limits.quota > 0 ? fmt::format(" (cgroup quota {:.1f} CPUs)", limits.quota) : "");
}

void print_cuda(const CudaStatus& cuda) {
  if (cuda.devices.empty()) print_result("cuda    none: {}\n", cuda.why_none);
  for (const CudaDeviceInfo& gpu : cuda.devices) {
    print_result("cuda:{}  {}, {:.1f} GiB, compute {}.{}, PCI {}, {}\n", gpu.index, gpu.name,
                 static_cast<double>(gpu.total_bytes) / (1 << 30), gpu.compute_major,
                 gpu.compute_minor, gpu.pci_bus_id, gpu.uuid);
  }
  auto versions = cuda_versions();
  if (cuda.devices.empty() || !versions) return;
  print_result("with    {}\n", fmt::join(version_texts(*versions), ", "));
  for (const std::string& line : finding_lines(*versions, cuda.devices)) print_result("{}\n", line);
}

// Each GPU, though one before it failed; returns the exit code.
int probe(const CudaStatus& cuda) {
  if (cuda.devices.empty())
    fail(Category::device, "--probe: there is no GPU to test: {}", cuda.why_none);
  std::string failed;
  for (const CudaDeviceInfo& gpu : cuda.devices) {
    try {
      probe_gpu(gpu.index);
      print_result("cuda:{}  works\n", gpu.index);
    } catch (const Error& error) {
      if (error.category() == Category::out_of_memory) {  // others fill it: it works
        print_result("cuda:{}  is full: {}\n", gpu.index, error.what());
        continue;
      }
      print_result("cuda:{}  fails: {}\n", gpu.index, error.what());
      failed += (failed.empty() ? "" : ", ") + describe(gpu);
    }
  }
  if (!failed.empty()) fail(Category::collective, "fails: {}", failed);
  return 0;
}

}  // namespace

int run_devices(const Arguments& arguments) {
  print_cpu(discover_topology());
  CudaStatus cuda = discover_cuda();
  print_cuda(cuda);
  return arguments.probe ? probe(cuda) : 0;
}

}  // namespace spire::tool
