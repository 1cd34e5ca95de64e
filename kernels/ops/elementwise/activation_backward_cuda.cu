// Gradients of activations on a GPU.
#include "kernels/ops/elementwise/elementwise_cuda.h"

namespace spire {

template Kernel make_cuda(const ActivationBackwardOp&, const KernelRequest&);

}  // namespace spire
