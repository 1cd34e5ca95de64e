// The natural logarithm in fp32, branch-free as the functions of elementary.h; host and device
// share it. A NaN gives a NaN.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

#include <spire/tensor.h>

namespace spire {

// Returns ln x: -infinity for 0, NaN below. x = 2^n m with m in [sqrt(1/2), sqrt(2)), and ln m = 2
// artanh s with s = (m - 1) / (m + 1), |s| < 0.172: the terms of its series behind s^9 / 9 are
// below 3e-9 of the sum.
SPIRE_HOST_DEVICE inline float natural_logarithm(float x) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  bool subnormal = x < 0x1p-126f;
  auto bits = std::bit_cast<uint32_t>(subnormal ? x * 0x1p23f : x);
  int32_t power = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;  // the bits of sqrt(1/2)
  float m = std::bit_cast<float>(bits - (static_cast<uint32_t>(power) << 23));
  auto n = static_cast<float>(subnormal ? power - 23 : power);
  float s = (m - 1.0f) / (m + 1.0f);
  float z = s * s;
  float p = 2.222222222e-1f * z + 2.857142857e-1f;
  p = p * z + 4.000000000e-1f;
  p = p * z + 6.666666667e-1f;
  float y = n * 0.693359375f + (n * -2.12194440e-4f + (p * z * s + 2.0f * s));
  y = x < infinity ? y : x;  // also a NaN
  y = x == 0 ? -infinity : y;
  return x < 0 ? std::numeric_limits<float>::quiet_NaN() : y;
}

}  // namespace spire
