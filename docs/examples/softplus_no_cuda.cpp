// Stands for softplus_cuda.cu in a build without a CUDA compiler.
#include <spire/error.h>

#include "softplus.h"

spire::Kernel softplus_kernel_cuda(const spire::KernelRequest& request, bool) {
  throw spire::Error(
      spire::Category::device,
      "[softplus] has no kernel for " + spire::to_string(request.device) + " in this build");
}
