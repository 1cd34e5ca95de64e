#include "tools/train/gpu_info.h"

namespace spire {

GpuInfo gpu_info(const CudaDeviceInfo& gpu) {
  return {.index = gpu.index,
          .name = gpu.name,
          .uuid = gpu.uuid,
          .pci_bus_id = gpu.pci_bus_id,
          .compute_major = gpu.compute_major,
          .compute_minor = gpu.compute_minor,
          .total_bytes = gpu.total_bytes};
}

}  // namespace spire
