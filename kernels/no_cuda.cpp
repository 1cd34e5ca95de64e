// Stubs of CUDA kernels and libraries for a build without CUDA: an empty table, and an error.
#include "engine/device/device.h"
#include "kernels/cuda/libraries.h"
#include "kernels/kernel.h"

namespace spire {

std::span<const KernelEntry> cuda_kernels() {
  return {};
}

// Complete types, so that the destructor of CudaLibraries compiles.
struct Cublaslt {};
struct Cudnn {};

CudaLibraries::~CudaLibraries() {}

std::unique_ptr<CudaLibraries> open_cuda_libraries(DeviceId device, const CudaLibraries::Options&,
                                                   const CudaLibraries*) {
  if (device.kind == DeviceKind::cpu) return nullptr;
  refuse_cuda(device.index);
}

}  // namespace spire
