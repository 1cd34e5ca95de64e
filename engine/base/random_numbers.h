// Many numbers of a RandomStream at once, computed in vector registers. Number i is a function of
// the stream and i alone, and has the same bits on any processor, with any instruction set, however
// a range is cut into calls: the code uses additions, products and square roots of IEEE 754, which
// are rounded each on its own (the file is compiled without contraction).
#pragma once
#include <cstdint>
#include <span>

#include <spire/random_stream.h>

namespace spire {

// Writes numbers first, first + 1, ... uniform in [0, 1): values[i] is random.uniform(first + i).
void uniform_numbers(const RandomStream& random, int64_t first, std::span<float> values);

// Writes numbers first, first + 1, ... of the standard normal distribution. Block b of the stream
// makes numbers 4 b to 4 b + 3: Box and Muller, "A Note on the Generation of Random Normal
// Deviates", 1958, with u = (floor(w0 / 2) + 1) / 2^31 rounded to fp32 and angle = 2 pi w1 / 2^32:
//   4 b: sqrt(-2 ln u) cos(angle)    4 b + 1: sqrt(-2 ln u) sin(angle)
// and the same of w2 and w3. |values| <= sqrt(62 ln 2) = 6.56; a value's error is below 1e-6.
void normal_numbers(const RandomStream& random, int64_t first, std::span<float> values);

}  // namespace spire
