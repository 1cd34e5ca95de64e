// What CUDA shows to this process and what NVML tells of the host, joined.
#include <algorithm>

#include <spire/devices.h>
#include <spire/error.h>

#include "engine/base/text.h"
#include "engine/device/device.h"
#include "engine/device/device_memory.h"
#include "engine/device/nvml/gpu_monitor.h"
#include "engine/device/topology.h"

namespace spire {
namespace {

void take(const std::optional<GpuMemory>& memory, ListedDevice& device) {
  if (!memory) return;
  device.memory_total = memory->total;
  device.memory_used = memory->used;
  device.memory_free = memory->free;
}

ListedDevice listed_cpu() {
  DeviceSpace space = space_of(DeviceId{});
  ListedDevice device;
  device.id = "cpu";
  device.name = counted(std::ssize(discover_topology().cores), "core");
  device.memory_total = space.total;
  if (!space.free) return device;
  device.memory_free = *space.free;
  device.memory_used = space.total - std::min(space.total, *space.free);
  return device;
}

// Null: CUDA shows it to no one here, or a MIG device in its place.
const CudaDeviceInfo* shown_by_cuda(const HostGpu& gpu, const std::vector<CudaDeviceInfo>& shown) {
  auto same = std::ranges::find_if(shown, [&](const CudaDeviceInfo& each) {
    return !each.uuid.starts_with("MIG-") && !gpu.pci_bus_id.empty() &&
           each.pci_bus_id == gpu.pci_bus_id;
  });
  return same == shown.end() ? nullptr : &*same;
}

ListedDevice listed(const HostGpu& gpu, const GpuState& state, const CudaDeviceInfo* shown) {
  ListedDevice device{
      .host_number = gpu.number, .name = gpu.name, .uuid = gpu.uuid, .pci_bus_id = gpu.pci_bus_id};
  if (shown) device.id = to_string(DeviceId{DeviceKind::cuda, shown->index});
  take(state.memory, device);
  if (state.compute_percent) device.utilization = 0.01 * *state.compute_percent;
  if (state.condition != GpuCondition::works) device.problem = state.problem;
  return device;
}

// A MIG device, or a GPU where there is no NVML.
ListedDevice listed(const CudaDeviceInfo& gpu, const GpuMonitor& monitor) {
  ListedDevice device{.id = to_string(DeviceId{DeviceKind::cuda, gpu.index}),
                      .host_number = gpu.host_number,
                      .name = gpu.name,
                      .uuid = gpu.uuid,
                      .pci_bus_id = gpu.pci_bus_id};
  device.memory_total = gpu.total_bytes;
  const HostGpu* host = monitor.find(gpu.pci_bus_id);
  if (!host) return device;
  GpuState state = monitor.state(host->number);
  if (auto mig = mig_index(*host, gpu.uuid)) take(memory_of(state, mig), device);
  return device;
}

}  // namespace

std::vector<ListedDevice> list_devices() {
  std::vector<ListedDevice> devices = {listed_cpu()};
  CudaStatus cuda = discover_cuda();
  GpuMonitor monitor;
  std::vector<int> done;  // indices of CUDA's
  for (const HostGpu& gpu : monitor.gpus()) {
    const CudaDeviceInfo* shown = shown_by_cuda(gpu, cuda.devices);
    if (shown) done.push_back(shown->index);
    devices.push_back(listed(gpu, monitor.state(gpu.number), shown));
  }
  for (const CudaDeviceInfo& gpu : cuda.devices)
    if (std::ranges::find(done, gpu.index) == done.end()) devices.push_back(listed(gpu, monitor));
  return devices;
}

}  // namespace spire
