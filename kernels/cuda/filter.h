// Filters of convolutions on a GPU: plain (O, C, KH, KW) as parameters lie, and "krsc", (O, KH, KW,
// C), which fits activations (N, H, W, C): both have their channels side by side.
#pragma once
#include "kernels/kernel.h"

namespace spire::inline kernels {

// Whether plain and krsc are the same order of elements: one channel, or one pixel.
bool same_order(const Shape& plain);

// The input of that index, a filter (its spec in `request`), as krsc in `dtype`. None where a
// kernel may read the plain fp32 parameter itself.
std::vector<Packing> krsc_packings(int input, DType dtype, const KernelRequest& request);

// plain = krsc, which is of `dtype`, in fp32. `plain` has this shape.
void krsc_to_plain(const Shape& shape, DType dtype, const void* krsc, float* plain, void* stream);

}  // namespace spire::inline kernels
