#include "kernels/cuda/libraries.h"

#include "engine/base/fail.h"
#include "engine/device/cuda_error.h"
#include "engine/device/gpu_requirements.h"
#include "engine/device/stream.h"
#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/tuning.h"

namespace spire {

CudaLibraries::CudaLibraries(DeviceId device, const Options& options, const CudaLibraries* same_gpu)
    : device_(device),
      options_(options),
      plans_(same_gpu ? same_gpu->plans_ : std::make_shared<Plans>()) {
  require(device.kind == DeviceKind::cuda, "CUDA's libraries for {}", to_string(device));
  cublaslt_ = std::make_unique<Cublaslt>();
  gpu_ = kind_of_current_gpu();
}

CudaLibraries::~CudaLibraries() {}

const Cudnn& CudaLibraries::cudnn() const {
  std::call_once(cudnn_opened_, [this] {
    cudnn_ = std::make_shared<const Cudnn>();
    plans_->made_with.push_back(cudnn_);
  });
  return *cudnn_;
}

namespace {

std::string with_cublaslt(const std::string& kind, size_t version) {
  return fmt::format("{}, cuBLASLt {}.{}.{}", kind, version / 10000, version / 100 % 100,
                     version % 100);
}

}  // namespace

std::string CudaLibraries::kind() const {
  return with_cublaslt(cudnn().kind, cublaslt().version());
}

std::string CudaLibraries::kind_for_products() const {
  return with_cublaslt(gpu_, cublaslt().version());
}

std::string kind_of_current_gpu() {
  int device = 0;
  cudaDeviceProp properties{};
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return fmt::format("{}, compute {}.{}", properties.name, properties.major, properties.minor);
}

PlanStore* CudaLibraries::plan_store() const {
  return options_.tuning ? &options_.tuning->plans() : nullptr;
}

std::unique_ptr<CudaLibraries> open_cuda_libraries(DeviceId device,
                                                   const CudaLibraries::Options& options,
                                                   const CudaLibraries* same_gpu) {
  if (device.kind == DeviceKind::cpu) return nullptr;
  expect_usable_gpu(device.index);
  make_current(device);
  return std::make_unique<CudaLibraries>(device, options, same_gpu);
}

}  // namespace spire
