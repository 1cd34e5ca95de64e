// A convolution with the engine that was chosen for it.
#pragma once
#include <spire/kernels/cudnn_convolution.h>
#include <spire/kernels/cudnn_plan.h>

namespace spire {

// As a device runs it; kernels of the same shape share one.
struct PreparedConvolution {
  PreparedConvolution(const ConvolutionShape& shape, const ConvolutionForm& said,
                      const Cudnn& cudnn)
      : form(said), convolution(shape, said, cudnn) {}

  // Each caller with a pack of its own.
  void run(const CudnnPlan& by, CudnnPack& pack, const ConvolutionPointers& pointers,
           void* stream) const;

  ConvolutionForm form;
  CudnnConvolution convolution;
  std::optional<CudnnPlan> plan;
};

// That of the device's libraries, made when it is first asked for. Throws Error(device) where cuDNN
// has no engine that keeps to the rules. REQUIRES: the device is the thread's current one.
std::shared_ptr<const PreparedConvolution> prepare_convolution(const ConvolutionShape& shape,
                                                               CudaLibraries& libraries);

}  // namespace spire
