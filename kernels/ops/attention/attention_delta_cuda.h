// delta_i = dy_i . y_i of attention's backward. This header belongs to attention's .cu files only.
#pragma once
#include "kernels/ops/attention/attention_extents_cuda.h"

namespace spire::inline kernels::attention_cuda {

// dy, y (N, T, C) of `dtype`; delta (N, H, T) fp32.
void launch_delta(const AttentionExtents& e, DType dtype, const void* dy, const void* y,
                  float* delta, void* stream);

}  // namespace spire::inline kernels::attention_cuda
