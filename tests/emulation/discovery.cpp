// Discovery of the emulated devices, instead of the machine's.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "devices.h"
#include "engine/device/cuda_error.h"
#include "engine/device/gpu_requirements.h"

namespace spire {

CudaStatus discover_cuda() {
  CudaStatus status;
  status.built = true;
  const char* order = std::getenv("EMULATED_ORDER");
  bool reversed = order && std::string(order) == "reversed";
  int count = emulation::device_count();
  for (int i = 0; i < count; ++i) {
    status.devices.push_back({.index = reversed ? count - 1 - i : i,
                              .ordinal = i,
                              .name = "emulation",
                              .uuid = emulation::uuid_of(i),
                              .pci_bus_id = emulation::pci_bus_id_of(i),
                              .compute_major = 9,
                              .total_bytes = emulation::memory_limit(i)});
  }
  if (count == 0) status.why_none = "CUDA_VISIBLE_DEVICES shows no GPU";
  std::ranges::sort(status.devices, {}, &CudaDeviceInfo::index);
  remember_gpus(status.devices);
  return status;
}

// Of libraries that the emulation stands in for: as if each were the one built with.
std::optional<CudaVersions> cuda_versions() {
  return CudaVersions{.toolkit = {13, 0},
                      .driver_cuda = {13, 0},
                      .driver = "580.65.06",
                      .cudnn = {{9, 19}, {9, 19}},
                      .cublas = {{13, 0}, {13, 0}},
                      .nccl = {{2, 28}, {2, 28}},
                      .cudnn_cuda = {13, 0},
                      .nvrtc = {13, 0},
                      .architectures = "90"};
}

}  // namespace spire
