// Handles of NVIDIA's libraries in the emulation: empty, as no library is there. Options are kept.
#include "kernels/cuda/libraries.h"

#include <tests/described_gpu/shapes.h>

#include "kernels/cuda/attention.h"

namespace spire {

struct Cublaslt {};
struct Cudnn {};

CudaLibraries::CudaLibraries(DeviceId device, const Options& options, const CudaLibraries* same_gpu)
    : device_(device),
      options_(options),
      plans_(same_gpu ? same_gpu->plans_ : std::make_shared<Plans>()) {}

CudaLibraries::~CudaLibraries() {}

PlanStore* CudaLibraries::plan_store() const {
  return nullptr;
}

std::string CudaLibraries::kind_for_products() const {
  return "emulated";
}

std::unique_ptr<CudaLibraries> open_cuda_libraries(DeviceId device,
                                                   const CudaLibraries::Options& options,
                                                   const CudaLibraries* same_gpu) {
  if (device.kind == DeviceKind::cpu) return nullptr;
  return std::make_unique<CudaLibraries>(device, options, same_gpu);
}

// No cuDNN: attention is the own kernels'.
Kernel choose_attention(const AttentionShape& shape, const NativeAttention& own,
                        const KernelRequest&) {
  testing::note(shape);
  return own.make();
}

}  // namespace spire
