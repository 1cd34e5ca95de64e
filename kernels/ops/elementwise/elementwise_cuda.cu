// Elementwise ops on a GPU but for activations, which compile as long as several others.
#include "kernels/ops/elementwise/elementwise_cuda.h"

namespace spire {

template Kernel make_cuda(const AddOp&, const KernelRequest&);
template Kernel make_cuda(const MulOp&, const KernelRequest&);
template Kernel make_cuda(const SubOp&, const KernelRequest&);
template Kernel make_cuda(const DivOp&, const KernelRequest&);
template Kernel make_cuda(const CastOp&, const KernelRequest&);

}  // namespace spire
