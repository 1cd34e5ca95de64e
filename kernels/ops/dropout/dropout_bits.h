// Random bits of dropout on the CPU, drawn for many elements at a time. It is not in dropout.h
// because nvcc takes no OpenMP pragmas.
#pragma once
#include <spire/random_stream.h>

namespace spire {

// Draws one Philox block: a function of its own, so that the loop below vectorizes over blocks.
inline void draw_block(const RandomStream& stream, int64_t index, uint32_t* bits) {
  PhiloxBlock block = stream.block(static_cast<uint64_t>(index));
  bits[0] = block[0];
  bits[1] = block[1];
  bits[2] = block[2];
  bits[3] = block[3];
}

// Draws the bits of elements [first, first + count): bits[i] is for element first + i. REQUIRES:
// count and first are multiples of 4.
template <int64_t count>
void draw_bits(const RandomStream& stream, int64_t first, uint32_t* bits) {
#pragma omp simd
  for (int64_t b = 0; b < count / 4; ++b) draw_block(stream, first / 4 + b, bits + 4 * b);
}

}  // namespace spire
