// The emulation's devices, in the place of the machine's.
#include <spire/device/cuda_error.h>
#include <spire/device/cuda_versions.h>

#include "devices.h"

namespace spire {

CudaStatus discover_cuda() {
  CudaStatus status;
  status.built = true;
  for (int i = 0; i < emulation::visible_devices(); ++i) {
    status.devices.push_back({.index = i,
                              .name = "emulation",
                              .uuid = emulation::uuid_of(i),
                              .pci_bus_id = "",
                              .compute_major = 9,
                              .total_bytes = emulation::memory_limit(i)});
  }
  remember_gpus(status.devices);
  return status;
}

// There is no driver, and no library.
std::optional<CudaVersions> cuda_versions() {
  return {};
}

}  // namespace spire
