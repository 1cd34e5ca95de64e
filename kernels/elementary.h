// Elementary functions in fp32: exp, ln, tanh and the normal distribution. They are branch-free, so
// that loops over them vectorize on the CPU; host and device share the code. Polynomials are
// minimax fits with a relative error of about 2e-8. A NaN gives a NaN. V is float or a vector of
// floats (cpu/simd.h).
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

#include <spire/tensor.h>

namespace spire {

// WordsOf<V>::Type: 32-bit unsigned integers, as many as V has floats. kernels/cpu/simd.h
// specializes it for vectors.
template <typename V>
struct WordsOf {
  using Type = uint32_t;
};

// Returns e^x with x clamped to [-87, 88], so the result is neither zero nor infinite. It is 2^n
// e^r for x = n ln 2 + r, |r| <= ln 2 / 2; ln 2 is subtracted in two parts, which keeps r exact.
template <typename V>
SPIRE_HOST_DEVICE inline V exponential(V x) {
  const V least = V{} - 87.0f, most = V{} + 88.0f;
  x = x < least ? least : x;
  x = x > most ? most : x;
  const float round = 12582912.0f;  // 1.5 * 2^23: adding it leaves n in the low bits
  V shifted = x * 1.44269504f + round;
  V n = shifted - round;
  V r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  V p = 1.381461243e-3f * r + 8.368709897e-3f;
  p = p * r + 4.166838738e-2f;
  p = p * r + 1.666652069e-1f;
  p = p * r + 4.999999345e-1f;
  p = (p * r) * r + r + 1.0f;
  using Words = typename WordsOf<V>::Type;
  Words power = (std::bit_cast<Words>(shifted) << 23) + (127u << 23);  // 2^n
  return p * std::bit_cast<V>(power);
}

SPIRE_HOST_DEVICE inline float logistic(float x) {
  return 1.0f / (1.0f + exponential(-x));
}

// Returns tanh x: for |x| < 0.625 by an odd polynomial, which keeps the relative error small near
// 0, else by |tanh x| = 1 - 2 / (e^(2|x|) + 1).
SPIRE_HOST_DEVICE inline float hyperbolic_tangent(float x) {
  float magnitude = x < 0 ? -x : x;
  float z = x * x;
  float p = -5.704990201e-3f;
  p = p * z + 2.063909045e-2f;
  p = p * z - 5.373971621e-2f;
  p = p * z + 1.333144221e-1f;
  p = p * z - 3.333328194e-1f;
  float near_zero = p * z * x + x;
  float far = 1.0f - 2.0f / (exponential(2.0f * magnitude) + 1.0f);
  far = x < 0 ? -far : far;
  return magnitude < 0.625f ? near_zero : far;
}

// The standard normal distribution at x: its distribution function and its density.
struct Normal {
  float below;    // P(N(0, 1) < x)
  float density;  // e^(-x^2/2) / sqrt(2 pi)
};

// Computes the tail P(N(0, 1) > |x|) as e^(-x^2/2) Q(s), with a polynomial Q of s = 1 / (1 + 0.27
// |x|): for negative x `below` is this tail, without cancellation.
SPIRE_HOST_DEVICE inline Normal normal(float x) {
  float magnitude = x < 0 ? -x : x;
  float s = 1.0f / (1.0f + 0.27f * magnitude);
  float q = 2.712132063e-2f;
  q = q * s - 1.166799609e-1f;
  q = q * s + 1.471978001e-1f;
  q = q * s - 3.975980813e-2f;
  q = q * s + 8.392819908e-2f;
  q = q * s + 8.453700769e-2f;
  q = q * s + 9.761719648e-2f;
  q = q * s + 1.084140109e-1f;
  q = q * s + 1.076191983e-1f;
  q = q * s + 5.044494315e-6f;
  float bell = exponential(-0.5f * x * x);
  float tail = bell * q;
  return {x < 0 ? tail : 1.0f - tail, bell * 0.398942280f};
}

// Returns ln x; -infinity for 0, NaN for x < 0. With x = 2^n m and m in [sqrt(1/2), sqrt(2)) it is
// n ln 2 + ln m, and ln m = 2 artanh s with s = (m - 1) / (m + 1), |s| < 0.172. The terms of the
// series after s^9 / 9 are below 3e-9 of the sum.
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
