// Packed layouts in which GPU kernels read parameters, in the compute dtype. A filter is either
// plain, (O, C, KH, KW), or "krsc", (O, KH, KW, C), with adjacent channels, as in activations.
#pragma once
#include <vector>

#include <spire/kernel.h>
#include <spire/packing.h>

#include "kernels/cuda/packing_launches.h"

namespace spire {

// Returns the packing of the op's input `input`, a parameter: plain layout, rounded to `dtype`.
// rows: number of rows of the packed form, padded with zeros; 0: as many as the parameter has.
Packing cast_packing(int input, DType dtype, const KernelRequest& request, int64_t rows = 0);

// Returns the one packing of a filter as krsc in `dtype`, or none if the plain parameter has the
// same bytes: in fp32, if same_order(). channels: of the packed form, padded with zeros; 0: C.
std::vector<Packing> krsc_packings(int input, DType dtype, const KernelRequest& request,
                                   int64_t channels = 0);

}  // namespace spire
