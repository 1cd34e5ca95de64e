// The emulation's devices, in the place of the machine's.
#include <spire/device/device.h>

#include "devices.h"

namespace spire {

CudaStatus discover_cuda() {
  CudaStatus status;
  status.built = true;
  status.cudnn = status.cublas = "emulated";
  for (int i = 0; i < emulation::device_count(); ++i) {
    status.devices.push_back({.index = i,
                              .name = "emulation",
                              .uuid = "",
                              .pci_bus_id = "",
                              .total_bytes = emulation::memory_limit(i)});
  }
  return status;
}

}  // namespace spire
