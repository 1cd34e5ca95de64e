// The CUDA kernels and libraries of a build without CUDA: there are none.
#include <spire/device/no_cuda.h>
#include <spire/kernels/cuda_libraries.h>
#include <spire/kernels/kernel.h>

namespace spire {

std::span<const KernelEntry> cuda_kernels() {
  return {};
}

struct Cublaslt {};

CudaLibraries::CudaLibraries(DeviceId device, const Options&) {
  refuse_cuda(device.index);
}

CudaLibraries::~CudaLibraries() {}

}  // namespace spire
