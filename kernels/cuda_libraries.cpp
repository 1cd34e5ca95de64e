#include <spire/base/error.h>
#include <spire/device/cuda_versions.h>
#include <spire/device/stream.h>
#include <spire/kernels/cublaslt.h>
#include <spire/kernels/cuda_libraries.h>
#include <spire/kernels/cudnn.h>

namespace spire {

CudaLibraries::CudaLibraries(DeviceId device, const Options& options)
    : device_(device), options_(options) {
  require(device.kind == DeviceKind::cuda, "CUDA's libraries for {}", to_string(device));
  cublaslt_ = std::make_unique<Cublaslt>();
}

CudaLibraries::~CudaLibraries() {}

const Cudnn& CudaLibraries::cudnn() const {
  std::call_once(cudnn_opened_, [this] { cudnn_ = std::make_unique<Cudnn>(); });
  return *cudnn_;
}

std::unique_ptr<CudaLibraries> open_cuda_libraries(DeviceId device,
                                                   const CudaLibraries::Options& options) {
  if (device.kind == DeviceKind::cpu) return nullptr;
  expect_usable_gpu(device.index);
  make_current(device);
  return std::make_unique<CudaLibraries>(device, options);
}

}  // namespace spire
