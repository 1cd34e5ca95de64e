// Packed layouts in which GPU kernels read parameters, in the compute dtype. A filter is either
// plain, (O, C, KH, KW), or "krsc", (O, KH, KW, C), with adjacent channels, as in activations.
#pragma once
#include "kernels/kernel.h"

namespace spire::inline kernels {

// Returns the packing of the op's input `input`, a parameter: plain layout, rounded to `dtype`.
// rows: number of rows of the packed form, padded with zeros; 0: as many as the parameter has.
Packing cast_packing(int input, DType dtype, const KernelRequest& request, int64_t rows = 0);

bool same_order(const Shape& plain);  // true if krsc equals plain: C = 1 or KH KW = 1

// Returns the packing of a filter as krsc in `dtype`; empty if the plain parameter is that already.
std::vector<Packing> krsc_packings(int input, DType dtype, const KernelRequest& request);

// Writes plain = krsc, converted from `dtype` to fp32. shape: that of `plain`.
void krsc_to_plain(const Shape& shape, DType dtype, const void* krsc, float* plain, void* stream);

}  // namespace spire::inline kernels
