#include "kernels/nvidia/cuda_convolution.h"
#include "kernels/nvidia/cuda_libraries.h"
#include "kernels/nvidia/prepared_convolution.h"

namespace spire::inline kernels {

struct CudaConvolution::Prepared {
  ConvolutionShape shape;
  std::shared_ptr<const PreparedConvolution> shared;
  CudnnPack pack;
  std::optional<CudaProduct> product = {};  // with a description of its own, that has the bias
};

CudaConvolution::CudaConvolution(const ConvolutionShape& shape, CudaLibraries* libraries) {
  require(libraries != nullptr, "a convolution needs the device's libraries");
  auto shared = prepare_convolution(shape, *libraries);
  prepared_ = std::make_unique<Prepared>(Prepared{shape, shared, CudnnPack(libraries->cudnn())});
  const ConvolutionForm& form = shared->form;
  if (!form.product) return;
  prepared_->product =
      CudaProduct::recall(product_shape(shape, form), libraries, shared->algorithm);
  require(prepared_->product.has_value(), "a product is made by the algorithm chosen for it");
}

CudaConvolution::~CudaConvolution() {}

bool CudaConvolution::fused() const {
  return prepared_->shared->form.fused;
}

DType CudaConvolution::result() const {
  return prepared_->shared->form.result;
}

size_t CudaConvolution::workspace_bytes() const {
  if (prepared_->product) return prepared_->product->workspace_bytes();
  return prepared_->shared->plan->workspace_bytes();
}

void CudaConvolution::run(const ConvolutionPointers& pointers, void* stream) const {
  const PreparedConvolution& shared = *prepared_->shared;
  if (prepared_->product)
    return prepared_->product->run(product_pointers(prepared_->shape, shared.form, pointers),
                                   stream);
  shared.run(*shared.plan, prepared_->pack, pointers, stream);
}

}  // namespace spire::inline kernels
