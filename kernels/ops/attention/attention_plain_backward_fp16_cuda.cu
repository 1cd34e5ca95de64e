#include "kernels/ops/attention/attention_plain_backward_cuda.h"

namespace spire::attention_cuda {

template Kernel make_typed_plain_backward<float16>(const AttentionBackwardOp& op,
                                                   const KernelRequest& request);

}  // namespace spire::attention_cuda
