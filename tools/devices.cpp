// trainer devices: what `devices:` in a config may name on this machine.
#include <spire/base/error.h>
#include <spire/device/topology.h>
#include <spire/train/placement.h>

#include "commands.h"

namespace spire::tool {

namespace {

void print_cpu(const Topology& topology) {
  const CoreLimits& limits = topology.limits;
  fmt::print("cpu     {} of {} cores: {}{}{}\n", topology.cores.size(), topology.online,
             core_ranges(topology.cores),
             limits.omp_threads > 0 ? fmt::format(" (OMP_NUM_THREADS={})", limits.omp_threads) : "",
             limits.quota > 0 ? fmt::format(" (cgroup quota {:.1f} CPUs)", limits.quota) : "");
}

void print_cuda(const CudaStatus& cuda) {
  if (cuda.devices.empty()) fmt::print("cuda    none: {}\n", cuda.why_none);
  for (const CudaDeviceInfo& gpu : cuda.devices) {
    fmt::print("cuda:{}  {}, {:.1f} GiB, compute {}.{}, PCI {}, {}\n", gpu.index, gpu.name,
               static_cast<double>(gpu.total_bytes) / (1 << 30), gpu.compute_major,
               gpu.compute_minor, gpu.pci_bus_id, gpu.uuid);
  }
}

}  // namespace

int run_devices(const Arguments&) {
  print_cpu(discover_topology());
  print_cuda(discover_cuda());
  return 0;
}

}  // namespace spire::tool
