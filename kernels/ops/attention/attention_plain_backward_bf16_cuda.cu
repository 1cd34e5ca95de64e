#include "kernels/ops/attention/attention_plain_backward_cuda.h"

namespace spire::inline kernels::attention_cuda {

template Kernel make_typed_plain_backward<bfloat16>(const AttentionBackwardOp& op,
                                                    const KernelRequest& request);

}  // namespace spire::inline kernels::attention_cuda
