// Activations on a GPU.
#include "kernels/ops/elementwise/elementwise_cuda.h"

namespace spire {

template Kernel make_cuda(const ActivationOp&, const KernelRequest&);

}  // namespace spire
