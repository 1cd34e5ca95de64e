#include <spire/kernels/cuda_convolution.h>
#include <spire/kernels/cuda_libraries.h>
#include <spire/kernels/prepared_convolution.h>

namespace spire {

struct CudaConvolution::Prepared {
  std::shared_ptr<const PreparedConvolution> shared;
  CudnnPack pack;
};

CudaConvolution::CudaConvolution(const ConvolutionShape& shape, CudaLibraries* libraries) {
  require(libraries != nullptr, "a convolution needs the device's libraries");
  prepared_ = std::make_unique<Prepared>(Prepared{prepare_convolution(shape, *libraries), {}});
}

CudaConvolution::~CudaConvolution() {}

bool CudaConvolution::fused() const {
  return prepared_->shared->form.fused;
}

DType CudaConvolution::result() const {
  return prepared_->shared->form.result;
}

size_t CudaConvolution::workspace_bytes() const {
  return prepared_->shared->plan->workspace_bytes();
}

void CudaConvolution::run(const ConvolutionPointers& pointers, void* stream) const {
  const PreparedConvolution& shared = *prepared_->shared;
  shared.run(*shared.plan, prepared_->pack, pointers, stream);
}

}  // namespace spire
