// Convolutions of 3 x 3 windows with stride 1 by Winograd's F(2x2, 3x3) (winograd_tiles.h): 2.25
// times fewer multiplications than products of windows. Operands are fp32 or bf16; all arithmetic
// is fp32, and weights are transformed from fp32.
#pragma once
#include "kernels/cpu/tiled_convolution.h"
#include "kernels/kernel.h"

namespace spire::winograd {

using product::ConvolutionShape;

// True if the kernels below compute this convolution: 3 x 3, stride and dilation 1, padding of at
// most 2, channels in multiples of 16.
bool computes(const ConvolutionShape& shape);

// Returns whether the kernels below are the fastest on this processor, by fixed rules
// (docs/numerics.md).
bool is_faster(const ConvolutionShape& shape, DType dtype);

// Inputs and outputs are those of the kernels in tiled_convolution.h. REQUIRES: computes(shape).
Kernel forward(const ConvolutionShape& shape, const product::ForwardOptions& options,
               const KernelRequest& request);
Kernel backward_data(const ConvolutionShape& shape, const KernelRequest& request);
Kernel backward_weights(const ConvolutionShape& shape, bool bias, const KernelRequest& request);

}  // namespace spire::winograd
