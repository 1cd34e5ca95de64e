// Sums over flat fp32 buffers, in an order that does not depend on the instruction set.
#pragma once
#include <cstdint>

namespace spire::inline collective {

void add_floats(float* into, const float* from, int64_t count);  // into[i] += from[i]

// Sum of squares in fp64: sixteen interleaved partial sums, added up in order.
double sum_of_squares(const float* values, int64_t count);

}  // namespace spire::inline collective
