// Bias and relu of a convolution whose engine does not fuse them: y = relu(y + b), in place.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

// y (.., C) of a float dtype; b (C) fp32, null for none; the relu only if `relu` is true.
void add_bias_relu(const TensorSpec& spec, const float* b, bool relu, void* y, void* stream);

}  // namespace spire::inline kernels
