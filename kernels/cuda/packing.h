// Forms of parameters that GPU kernels read: plain or krsc layout, in the compute dtype.
//
// A filter parameter is plain (O, C, KH, KW). "krsc" is (O, KH, KW, C): like activations (N, H, W,
// C) it has its channels adjacent.
#pragma once
#include "kernels/kernel.h"

namespace spire::inline kernels {

// Returns the packing of input `input`, a parameter (its spec is in `request`): plain layout,
// rounded to `dtype`. Many kernels share this form. rows: length of the first axis, at least the
// parameter's; the added rows are zeros. 0: the parameter's own.
Packing cast_packing(int input, DType dtype, const KernelRequest& request, int64_t rows = 0);

// Returns true if plain and krsc have the same order of elements: one channel, or one pixel.
bool same_order(const Shape& plain);

// Returns the packing of input `input`, a filter (its spec is in `request`), as krsc in `dtype`.
// Empty if a kernel can read the plain fp32 parameter itself.
std::vector<Packing> krsc_packings(int input, DType dtype, const KernelRequest& request);

// plain = krsc, converted from `dtype` to fp32. shape: of `plain`.
void krsc_to_plain(const Shape& shape, DType dtype, const void* krsc, float* plain, void* stream);

}  // namespace spire::inline kernels
