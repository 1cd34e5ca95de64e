// Forms of parameters that GPU kernels read, in the compute dtype. A filter is plain (O, C, KH,
// KW), or "krsc" (O, KH, KW, C), with its channels adjacent as those of activations (N, H, W, C).
#pragma once
#include "kernels/kernel.h"

namespace spire::inline kernels {

// Returns the packing of a parameter, given by its input: plain layout, rounded to `dtype`. rows:
// of the packed form, the added ones zeros; 0: the parameter's.
Packing cast_packing(int input, DType dtype, const KernelRequest& request, int64_t rows = 0);

bool same_order(const Shape& plain);  // true if krsc has the plain order: one channel or one pixel

// Returns the packing of a filter as krsc in `dtype`; none if kernels can read the plain parameter.
std::vector<Packing> krsc_packings(int input, DType dtype, const KernelRequest& request);

// Writes plain = krsc, converted from `dtype` to fp32. shape: of `plain`.
void krsc_to_plain(const Shape& shape, DType dtype, const void* krsc, float* plain, void* stream);

}  // namespace spire::inline kernels
