#include <spire/device/stream.h>
#include <spire/kernels/cuda_libraries.h>

namespace spire {

std::unique_ptr<CudaLibraries> open_cuda_libraries(DeviceId device,
                                                   const CudaLibraries::Options& options) {
  if (device.kind == DeviceKind::cpu) return nullptr;
  make_current(device);
  return std::make_unique<CudaLibraries>(device, options);
}

}  // namespace spire
