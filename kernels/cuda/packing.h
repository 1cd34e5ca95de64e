// Packed layouts in which GPU kernels read parameters, in the compute dtype. A filter is either
// plain, (O, C, KH, KW), or "krsc", (O, KH, KW, C), with adjacent channels, as in activations.
#pragma once
#include <vector>

#include <spire/kernel.h>
#include <spire/packing.h>

namespace spire {

// Returns the packing of the op's input `input`, a parameter: plain layout, rounded to `dtype`.
// rows: number of rows of the packed form, padded with zeros; 0: as many as the parameter has.
Packing cast_packing(int input, DType dtype, const KernelRequest& request, int64_t rows = 0);

// Returns the packing of a filter as krsc in `dtype`; empty if the plain parameter is that already.
std::vector<Packing> krsc_packings(int input, DType dtype, const KernelRequest& request);

// The kernels that pack: each function launches one on the stream.

// Rounds `n` floats to `dtype`.
void launch_cast(void* stream, int64_t n, DType dtype, const float* plain, void* packed);

bool same_order(const Shape& plain);  // true if krsc equals plain: C = 1 or KH KW = 1

// Writes krsc = plain, in `dtype`, of the first `filters` filters. shape: that of all.
// REQUIRES: !same_order(shape).
void launch_krsc(void* stream, const Shape& shape, DType dtype, int64_t filters, const float* plain,
                 void* krsc);

// Writes plain = krsc, converted from `dtype` to fp32. shape: that of `plain`.
void krsc_to_plain(const Shape& shape, DType dtype, const void* krsc, float* plain, void* stream);

}  // namespace spire
