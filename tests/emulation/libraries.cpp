// The handles of NVIDIA's libraries: none is needed.
#include <spire/kernels/cuda_libraries.h>

namespace spire {

struct Cublaslt {};
struct Cudnn {};

CudaLibraries::~CudaLibraries() {}

std::unique_ptr<CudaLibraries> open_cuda_libraries(DeviceId, const CudaLibraries::Options&) {
  return nullptr;
}

}  // namespace spire
