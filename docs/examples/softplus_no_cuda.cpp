// Stands for softplus_cuda.cu in a build without a CUDA compiler.
#include <spire/error.h>

#include "softplus.h"

spire::Kernel softplus_kernel_cuda(const spire::KernelRequest& request, bool) {
  spire::fail(spire::Category::device, "[softplus] has no kernel for {} in this build",
              spire::to_string(request.device));
}
