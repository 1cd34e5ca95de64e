// Launches the kernels that round parameters and change a filter's layout between plain, (O, C, KH,
// KW), and krsc, (O, KH, KW, C): for packed parameters (kernels/cuda/packing.h) and back for their
// gradients.
#pragma once
#include <cstdint>

#include <spire/tensor.h>

namespace spire {

// Rounds `n` floats to `dtype`.
void launch_cast(void* stream, int64_t n, DType dtype, const float* plain, void* packed);

bool same_order(const Shape& plain);  // true if krsc equals plain: C = 1 or KH KW = 1

// Writes `filters` filters, from the first at `plain` on, as krsc in `dtype`: a Packing packs parts
// of a parameter at a time. shape: that of the whole plain parameter. channels: of krsc; those from
// C on are zeros. REQUIRES: !same_order(shape) or channels > C.
void launch_krsc(void* stream, const Shape& shape, int64_t channels, DType dtype, int64_t filters,
                 const float* plain, void* krsc);

// Writes plain = krsc, converted from `dtype` to fp32, without the channels of krsc from C on.
void krsc_to_plain(const Shape& shape, int64_t channels, DType dtype, const void* krsc,
                   float* plain, void* stream);

}  // namespace spire
