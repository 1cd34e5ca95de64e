// What stands behind a convolution, as a pass of its own: y = relu(y + b), in place.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

// y (.., C) of a float type, b (C) fp32 or null for none; the relu only if `relu`.
void add_bias_relu(const TensorSpec& spec, const float* b, bool relu, void* y, void* stream);

}  // namespace spire::inline kernels
