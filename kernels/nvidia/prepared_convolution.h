// A convolution with the engine that was chosen for it.
#pragma once
#include "kernels/nvidia/cudnn_convolution.h"
#include "kernels/nvidia/cudnn_plan.h"

namespace spire::inline kernels {

// As a device runs it; kernels of the same shape share one.
struct PreparedConvolution {
  // Each caller with a pack of its own. REQUIRES: the form is cuDNN's.
  void run(const CudnnPlan& by, CudnnPack& pack, const ConvolutionPointers& pointers,
           void* stream) const;

  ConvolutionForm form;
  // Of a form of cuDNN's,
  std::optional<CudnnConvolution> convolution = {};
  std::optional<CudnnPlan> plan = {};
  // and of a product: by which each kernel makes one of its own (CudaProduct::recall).
  std::string algorithm = {};
};

// That of the device's libraries, made when it is first asked for. Throws Error(device) where no
// library has an engine that keeps to the rules. REQUIRES: the device is the thread's current one.
std::shared_ptr<const PreparedConvolution> prepare_convolution(const ConvolutionShape& shape,
                                                               CudaLibraries& libraries);

}  // namespace spire::inline kernels
