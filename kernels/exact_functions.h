// e^x and ln x in fp64 with the same bits on every processor: each product that is added is a fused
// multiply-add by name, so no compiler has a choice. Errors are a few units in the last place.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include <spire/tensor.h>

namespace spire {

// Returns e^x for x <= 0, below -700 that of -700; a NaN gives a NaN. It is 2^n e^r for x = n ln 2
// + r with |r| <= ln 2 / 2, and e^r is its Taylor series up to r^13, whose rest is below 2^-55.
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

// Returns ln x for a normal x > 0, infinity and NaN as they are. x = 2^n m with m in [sqrt(1/2),
// sqrt(2)), and ln m = 2 artanh s with s = (m - 1) / (m + 1), |s| < 0.172: the terms of its series
// behind s^21 / 21 are below 2^-60.
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
