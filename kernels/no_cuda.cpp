// The CUDA kernels and libraries of a build without CUDA: there are none.
#include <spire/device/no_cuda.h>
#include <spire/kernels/cuda_libraries.h>
#include <spire/kernels/kernel.h>

namespace spire {

std::span<const KernelEntry> cuda_kernels() {
  return {};
}

struct Cublaslt {};
struct Cudnn {};

CudaLibraries::~CudaLibraries() {}

std::unique_ptr<CudaLibraries> open_cuda_libraries(DeviceId device, const CudaLibraries::Options&,
                                                   const CudaLibraries*) {
  if (device.kind == DeviceKind::cpu) return nullptr;
  refuse_cuda(device.index);
}

}  // namespace spire
