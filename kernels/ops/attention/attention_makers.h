// Makers of attention's CUDA kernels, each in a .cu file of its own.
#pragma once
#include "kernels/kernel.h"
#include "kernels/ops/attention/attention.h"

namespace spire::attention_cuda {

// Make the kernel of a pass. Throw Error(config) for heads that are too wide. The mma kernels
// require on_tensor_cores(shape, mma_compiled_for()).
Kernel make_plain(const AttentionOp& op, const KernelRequest& request);
Kernel make_plain_backward(const AttentionBackwardOp& op, const KernelRequest& request);
Kernel make_mma(const AttentionOp& op, const KernelRequest& request);
Kernel make_mma_backward(const AttentionBackwardOp& op, const KernelRequest& request);

// make_plain_backward() for a dtype.
template <typename T>
Kernel make_typed_plain_backward(const AttentionBackwardOp& op, const KernelRequest& request);

// Returns the compute capability of the mma kernels' code on the current device: 80 is 8.0.
int mma_compiled_for();

}  // namespace spire::attention_cuda
