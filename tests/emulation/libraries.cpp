// The handles of NVIDIA's libraries: none is needed.
#include <spire/kernels/cuda_libraries.h>

namespace spire {

struct Cublaslt {};

CudaLibraries::CudaLibraries(DeviceId, const Options& options) : options_(options) {}
CudaLibraries::~CudaLibraries() {}

}  // namespace spire
