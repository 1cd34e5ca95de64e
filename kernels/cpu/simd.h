// SIMD registers of 16 elements, here called lanes (not the lanes of a device), and conversions
// between memory types and floats or integers. The types are the compiler's vector extensions, on
// which + * < ?: work lane by lane.
#pragma once
#include <cstring>
#include <type_traits>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <spire/tensor.h>

#include "kernels/elementary.h"

namespace spire {

constexpr int lane_count = 16;

using FloatLanes [[gnu::vector_size(lane_count * 4)]] = float;
using IntLanes [[gnu::vector_size(lane_count * 4)]] = int32_t;
using WordLanes [[gnu::vector_size(lane_count * 4)]] = uint32_t;
using HalfLanes [[gnu::vector_size(lane_count * 2)]] = uint16_t;
using ByteLanes [[gnu::vector_size(lane_count)]] = uint8_t;

template <>
struct WordsOf<FloatLanes> {
  using Type = WordLanes;
};

// Loads the first `count` lanes; the others are zero.
template <typename Lanes, typename T>
inline Lanes read_lanes(const T* from, int count) {
  static_assert(sizeof(Lanes) == lane_count * sizeof(T) && std::is_trivially_copyable_v<T>);
  const void* bytes = from;
  Lanes lanes{};
  if (count == lane_count) {
    std::memcpy(&lanes, bytes, sizeof(lanes));
  } else {
    std::memcpy(&lanes, bytes, static_cast<size_t>(count) * sizeof(T));
  }
  return lanes;
}

// Stores the first `count` lanes.
template <typename Lanes, typename T>
inline void write_lanes(const Lanes& lanes, T* to, int count) {
  static_assert(sizeof(Lanes) == lane_count * sizeof(T) && std::is_trivially_copyable_v<T>);
  void* bytes = to;
  if (count == lane_count) {
    std::memcpy(bytes, &lanes, sizeof(lanes));
  } else {
    std::memcpy(bytes, &lanes, static_cast<size_t>(count) * sizeof(T));
  }
}

// Conversions between lane widths. They use intrinsics because compilers turn
// __builtin_convertvector into several instructions where AVX-512 has one. (Intrinsics without a
// mask cause a warning of g++ 12 about uninitialized values.)
#ifdef __AVX512F__
constexpr __mmask16 every_lane = 0xffff;
inline WordLanes widen(const HalfLanes& lanes) {
  return reinterpret_cast<WordLanes>(
      _mm512_maskz_cvtepu16_epi32(every_lane, reinterpret_cast<__m256i>(lanes)));
}
inline IntLanes widen(const ByteLanes& lanes) {
  return reinterpret_cast<IntLanes>(
      _mm512_maskz_cvtepu8_epi32(every_lane, reinterpret_cast<__m128i>(lanes)));
}
inline HalfLanes narrow(const WordLanes& lanes) {
  return reinterpret_cast<HalfLanes>(
      _mm512_maskz_cvtepi32_epi16(every_lane, reinterpret_cast<__m512i>(lanes)));
}
inline ByteLanes narrow(const IntLanes& lanes) {
  return reinterpret_cast<ByteLanes>(
      _mm512_maskz_cvtepi32_epi8(every_lane, reinterpret_cast<__m512i>(lanes)));
}
#else
inline WordLanes widen(const HalfLanes& lanes) {
  return __builtin_convertvector(lanes, WordLanes);
}
inline IntLanes widen(const ByteLanes& lanes) {
  return __builtin_convertvector(__builtin_convertvector(lanes, HalfLanes), IntLanes);
}
inline HalfLanes narrow(const WordLanes& lanes) {
  return __builtin_convertvector(lanes, HalfLanes);
}
inline ByteLanes narrow(const IntLanes& lanes) {
  return __builtin_convertvector(__builtin_convertvector(lanes, HalfLanes), ByteLanes);
}
#endif

inline FloatLanes load_floats(const float* from, int count) {
  return read_lanes<FloatLanes>(from, count);
}

// A bfloat16 is the upper half of a float.
inline FloatLanes load_floats(const bfloat16* from, int count) {
  return reinterpret_cast<FloatLanes>(widen(read_lanes<HalfLanes>(from, count)) << 16);
}

inline void store_floats(const FloatLanes& lanes, float* to, int count) {
  write_lanes(lanes, to, count);
}

// Rounds like bfloat16's constructor: to nearest even; a NaN stays a (quiet) NaN.
inline HalfLanes round_by_integers(const FloatLanes& lanes) {
  auto u = reinterpret_cast<WordLanes>(lanes);
  auto rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  auto bits = lanes != lanes ? (u >> 16) | 0x40u : rounded;
  return narrow(bits);
}

#ifdef __AVX512BF16__
// vcvtneps2bf16 gives the same bits, except that it flushes subnormal floats to zero. So a register
// with a subnormal lane goes through round_by_integers().
inline HalfLanes round_to_bfloat16(const FloatLanes& lanes) {
  constexpr int subnormal = 0x20;
  auto floats = reinterpret_cast<__m512>(lanes);
  if (_mm512_fpclass_ps_mask(floats, subnormal) != 0) [[unlikely]]
    return round_by_integers(lanes);
  return reinterpret_cast<HalfLanes>(_mm512_cvtneps_pbh(floats));
}
#else
inline HalfLanes round_to_bfloat16(const FloatLanes& lanes) {
  return round_by_integers(lanes);
}
#endif

inline void store_floats(const FloatLanes& lanes, bfloat16* to, int count) {
  write_lanes(round_to_bfloat16(lanes), &to->bits, count);
}

// Returns the lanes as they are read again after store_floats() to a T*.
template <typename T>
inline FloatLanes rounded_to(const FloatLanes& lanes) {
  if constexpr (std::is_same_v<T, float>) {
    return lanes;
  } else {
    return reinterpret_cast<FloatLanes>(widen(round_to_bfloat16(lanes)) << 16);
  }
}

// will_read() and will_write() prefetch the cache line of the element `elements_ahead` further on,
// for a pass over an array. The processor's own prefetch comes late, above all for lines that are
// only written. (Addresses past the array do no harm.)
constexpr int64_t elements_ahead = 1024;
template <typename T>
inline void will_read(const T* array) {
  __builtin_prefetch(array + elements_ahead, 0);
}
template <typename T>
inline void will_write(T* array) {
  __builtin_prefetch(array + elements_ahead, 1);
}

inline IntLanes load_ints(const uint8_t* from, int count) {
  return widen(read_lanes<ByteLanes>(from, count));
}

inline void store_ints(const IntLanes& lanes, uint8_t* to, int count) {
  write_lanes(narrow(lanes), to, count);
}

// Returns a register with the number in all lanes. (A difference, as compilers drop the subtraction
// of 0, but must keep an addition of 0, which turns -0 into 0.)
inline FloatLanes all_lanes(float number) {
  return number - FloatLanes{};
}

// Reduces all lanes to one number by a commutative f(lanes, lanes), which combines halves four
// times.
template <typename F>
inline float reduce_lanes(const FloatLanes& all, const F& f) {
  FloatLanes lanes = all;
  for (int half : {8, 4, 2, 1}) {
    IntLanes partner;
    for (int lane = 0; lane < lane_count; ++lane) partner[lane] = lane ^ half;
    lanes = f(lanes, __builtin_shuffle(lanes, partner));
  }
  return lanes[0];
}

inline float sum_of(const FloatLanes& lanes) {
  return reduce_lanes(lanes, [](const FloatLanes& a, const FloatLanes& b) { return a + b; });
}

inline FloatLanes larger(const FloatLanes& a, const FloatLanes& b) {
  return b > a ? b : a;
}

inline float largest_of(const FloatLanes& lanes) {
  return reduce_lanes(lanes, larger);
}

// Returns the lanes with all but the first `count` replaced by `rest`.
inline FloatLanes first_lanes(const FloatLanes& lanes, int64_t count, float rest) {
  constexpr IntLanes numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return numbers < static_cast<int>(count) ? lanes : FloatLanes{} + rest;
}

// Swaps the two off-diagonal blocks (step, step) of every block (2 * step, 2 * step).
template <int step>
inline void swap_blocks(FloatLanes (&rows)[lane_count]) {
  IntLanes upper{}, lower{};
  for (int lane = 0; lane < lane_count; ++lane) {
    bool second = (lane & step) != 0;
    upper[lane] = second ? lane_count + lane - step : lane;
    lower[lane] = second ? lane_count + lane : lane + step;
  }
  for (int i = 0; i < lane_count; ++i) {
    if (i & step) continue;
    FloatLanes a = rows[i], b = rows[i + step];
    rows[i] = __builtin_shuffle(a, b, upper);
    rows[i + step] = __builtin_shuffle(a, b, lower);
  }
}

// Transposes a 16 x 16 matrix. (Compilers do not unroll a loop over the steps, and would then make
// the indices of each step at run time.)
inline void transpose_lanes(FloatLanes (&rows)[lane_count]) {
  swap_blocks<8>(rows);
  swap_blocks<4>(rows);
  swap_blocks<2>(rows);
  swap_blocks<1>(rows);
}

// Rounds n up to a multiple of lane_count.
constexpr int64_t whole_registers(int64_t n) {
  return (n + lane_count - 1) / lane_count * lane_count;
}

// Splits [0, n) into registers and calls body(first, count) for each. count is lane_count as a
// std::integral_constant, but an int in the last call if fewer lanes are left.
template <typename Body>
void over_lanes(int64_t n, const Body& body) {
  int64_t first = 0;
  for (; first + lane_count <= n; first += lane_count) {
    body(first, std::integral_constant<int, lane_count>{});
  }
  if (first < n) body(first, static_cast<int>(n - first));
}

}  // namespace spire
