// Attention's own kernels on tensor cores, and whether they are what the device has.
#pragma once
#include "kernels/nvidia/attention.h"
#include "kernels/ops/attention/attention.h"

namespace spire::inline kernels {

// Spire's kernel of a pass on the current device: on tensor cores where attention_rules.h says so,
// else `plain`, in fp32 on plain cores.
NativeAttention own_attention(const AttentionShape& shape, const MakeKernel& mma,
                              const MakeKernel& plain);

// REQUIRE: on_tensor_cores(shape, ...). Error(config) as the kernels on plain cores.
std::unique_ptr<Kernel> make_attention_mma(const Op& op, const AttentionAttributes& attributes,
                                           const KernelRequest& request);
std::unique_ptr<Kernel> make_attention_backward_mma(const Op& op,
                                                    const AttentionAttributes& attributes,
                                                    const KernelRequest& request);

}  // namespace spire::inline kernels
