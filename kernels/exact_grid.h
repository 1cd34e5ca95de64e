// Grids on which sums have no order. Numbers that are all multiples of one power of two 2^g, and
// whose partial sums stay below 2^(g + 53), are added without rounding in fp64, by any processor
// and in any order. So operands are rounded to a grid that the length of the sum and their largest
// magnitude give (docs/numerics.md#exact-sums). Host and device share the code.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include <spire/tensor.h>

namespace spire {

// Exponents that a float can have, as its bits tell them: 0 (zero and subnormal numbers) to 255
// (infinity and NaN).
constexpr int exponent_count = 256;

SPIRE_HOST_DEVICE inline int exponent_of(float x) {
  return static_cast<int>(std::bit_cast<uint32_t>(x) >> 23 & 0xffu);
}

// Returns the least n with 2^n >= length.
constexpr SPIRE_HOST_DEVICE int log2_above(int64_t length) {
  int n = 0;
  while ((int64_t{1} << n) < length) ++n;
  return n;
}

// Bits of each factor in a sum of `length` products: 2 bits + log2 length is at most 53. A float
// has 24.
constexpr SPIRE_HOST_DEVICE int product_bits(int64_t length) {
  int bits = (53 - log2_above(length)) / 2;
  return bits < 24 ? bits : 24;
}

// Bits of each term in a sum of `length` terms.
constexpr SPIRE_HOST_DEVICE int term_bits(int64_t length) {
  return 53 - log2_above(length);
}

// The multiples of 2^(e + 1 - bits), where 2^e is the power of two in the largest magnitude: all
// numbers become integers up to 2^bits times that step. Infinity and NaN stay what they are.
class Grid {
 public:
  // exponent: exponent_of() the largest magnitude, at most.
  SPIRE_HOST_DEVICE Grid(int exponent, int bits)
      : step_(power((exponent > 0 ? exponent : 1) - 126 - bits)),
        steps_(power(126 + bits - (exponent > 0 ? exponent : 1))) {}

  // Returns the point of the grid nearest to x. Both products are exact.
  SPIRE_HOST_DEVICE double operator()(float x) const {
    return rint(static_cast<double>(x) * steps_) * step_;
  }

 private:
  static SPIRE_HOST_DEVICE double power(int n) {  // 2^n, n in [-1022, 1023]
    return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
  }

  double step_, steps_;
};

// Returns the highest exponent whose flag is not 0; 0 if there is none. flags: (exponent_count).
SPIRE_HOST_DEVICE inline int highest_exponent(const double* flags) {
  int exponent = exponent_count - 1;
  while (exponent > 0 && flags[exponent] == 0) --exponent;
  return exponent;
}

}  // namespace spire
