// Rounds the operands of a sum to a grid, so that the sum has the same bits in any order
// (docs/numerics.md#exact-sums). Any processor adds multiples of one power of two 2^g in fp64
// without rounding if all partial sums stay below 2^(g + 53). The length of the sum and the largest
// magnitude of its operands determine the grid. Host and device share the code.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include <spire/tensor.h>

namespace spire {

// Number of values of a float's exponent bits: 0 (zero and subnormal numbers) to 255 (infinity and
// NaN).
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

// Returns the bits to which each factor in a sum of `length` products is rounded: the largest
// `bits` with 2 bits + log2(length) <= 53, at most 24 (those of a float).
constexpr SPIRE_HOST_DEVICE int product_bits(int64_t length) {
  int bits = (53 - log2_above(length)) / 2;
  return bits < 24 ? bits : 24;
}

// Returns the bits to which each term in a sum of `length` terms is rounded.
constexpr SPIRE_HOST_DEVICE int term_bits(int64_t length) {
  return 53 - log2_above(length);
}

// The multiples of a step, 2^(e + 1 - bits), where 2^e is the largest power of two in the largest
// magnitude. Each number becomes an integer, of magnitude up to 2^bits, times the step. Infinity
// and NaN stay unchanged.
class Grid {
 public:
  // exponent: exponent_of() of the largest magnitude that will be rounded; 0 counts as 1.
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

// exact_exponential() and exact_logarithm() have the same bits on every processor: each product
// that is added is written as std::fma(), so that no compiler chooses whether to fuse. Errors are a
// few units in the last place.

// Returns e^x for x <= 0, and e^-700 for x < -700; a NaN gives a NaN. It is 2^n e^r for x = n ln 2
// + r with |r| <= ln 2 / 2, where e^r is the Taylor series up to r^13; the terms left out are below
// 2^-55.
SPIRE_HOST_DEVICE inline double exact_exponential(double x) {
  x = x < -700.0 ? -700.0 : x;
  const double round = 0x1.8p52;  // adding it leaves n in the low bits
  double shifted = std::fma(x, 0x1.71547652b82fep0, round);
  double n = shifted - round;
  double r = std::fma(n, -0x1.62e42fefa39efp-1, x);
  r = std::fma(n, -0x1.abc9e3b39803fp-56, r);
  double p = 1.0 / 6227020800.0;  // 1 / 13!
  p = std::fma(p, r, 1.0 / 479001600.0);
  p = std::fma(p, r, 1.0 / 39916800.0);
  p = std::fma(p, r, 1.0 / 3628800.0);
  p = std::fma(p, r, 1.0 / 362880.0);
  p = std::fma(p, r, 1.0 / 40320.0);
  p = std::fma(p, r, 1.0 / 5040.0);
  p = std::fma(p, r, 1.0 / 720.0);
  p = std::fma(p, r, 1.0 / 120.0);
  p = std::fma(p, r, 1.0 / 24.0);
  p = std::fma(p, r, 1.0 / 6.0);
  p = std::fma(p, r, 0.5);
  p = std::fma(p, r, 1.0);
  p = std::fma(p, r, 1.0);
  // 2^n: a product by it is exact.
  uint64_t power = (std::bit_cast<uint64_t>(shifted) << 52) + (uint64_t{1023} << 52);
  return p * std::bit_cast<double>(power);
}

// Returns ln x for a normal x > 0; returns infinity and NaN unchanged. With x = 2^n m and m in
// [sqrt(1/2), sqrt(2)) it is n ln 2 + ln m, and ln m = 2 artanh s with s = (m - 1) / (m + 1), |s| <
// 0.172. The terms of the series after s^21 / 21 are below 2^-60.
SPIRE_HOST_DEVICE inline double exact_logarithm(double x) {
  auto bits = std::bit_cast<uint64_t>(x);
  int64_t power = static_cast<int64_t>(bits - 0x3fe6a09e667f3bcdu) >> 52;  // of sqrt(1/2)
  double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(power) << 52));
  auto n = static_cast<double>(power);
  double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 1.0 / 21;
  for (int k = 19; k >= 3; k -= 2) p = std::fma(p, z, 1.0 / k);
  double series = std::fma(p * z, s, s);  // artanh s
  double y = std::fma(2.0, series, n * 0x1.abc9e3b39803fp-56);
  y = std::fma(n, 0x1.62e42fefa39efp-1, y);
  return x - x == 0 ? y : x;
}

}  // namespace spire
