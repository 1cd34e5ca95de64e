// Sixteen channels at a time: loads and stores between memory types and one register of floats or
// integers, by the compiler's vector types, which take + * < ?: lane by lane.
#pragma once
#include <cstring>
#include <type_traits>

#include <spire/base/dtype.h>

// Lanes are passed between inlined functions only: no ABI is at stake.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace spire {

constexpr int lane_count = 16;

using FloatLanes [[gnu::vector_size(lane_count * 4)]] = float;
using IntLanes [[gnu::vector_size(lane_count * 4)]] = int32_t;
using WordLanes [[gnu::vector_size(lane_count * 4)]] = uint32_t;
using HalfLanes [[gnu::vector_size(lane_count * 2)]] = uint16_t;
using ByteLanes [[gnu::vector_size(lane_count)]] = uint8_t;

// The first `count` lanes from memory, zeros in the others.
template <typename Lanes, typename T>
inline Lanes read_lanes(const T* from, int count) {
  Lanes lanes{};
  if (count == lane_count) {
    std::memcpy(&lanes, from, sizeof(lanes));
  } else {
    std::memcpy(&lanes, from, static_cast<size_t>(count) * sizeof(T));
  }
  return lanes;
}

template <typename Lanes, typename T>
inline void write_lanes(const Lanes& lanes, T* to, int count) {
  if (count == lane_count) {
    std::memcpy(to, &lanes, sizeof(lanes));
  } else {
    std::memcpy(to, &lanes, static_cast<size_t>(count) * sizeof(T));
  }
}

inline FloatLanes load_floats(const float* from, int count) {
  return read_lanes<FloatLanes>(from, count);
}

inline FloatLanes load_floats(const bfloat16* from, int count) {
  auto bits = read_lanes<HalfLanes>(from, count);
  return reinterpret_cast<FloatLanes>(__builtin_convertvector(bits, WordLanes) << 16);
}

inline void store_floats(const FloatLanes& lanes, float* to, int count) {
  write_lanes(lanes, to, count);
}

// Rounds as bfloat16 does: to nearest even, a NaN stays one.
inline void store_floats(const FloatLanes& lanes, bfloat16* to, int count) {
  auto u = reinterpret_cast<WordLanes>(lanes);
  auto rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  auto bits = lanes != lanes ? (u >> 16) | 0x40u : rounded;
  write_lanes(__builtin_convertvector(bits, HalfLanes), &to->bits, count);
}

// Bytes widen in two steps, each one instruction.
inline IntLanes load_ints(const uint8_t* from, int count) {
  auto halves = __builtin_convertvector(read_lanes<ByteLanes>(from, count), HalfLanes);
  return __builtin_convertvector(halves, IntLanes);
}

inline void store_ints(const IntLanes& lanes, uint8_t* to, int count) {
  auto halves = __builtin_convertvector(lanes, HalfLanes);
  write_lanes(__builtin_convertvector(halves, ByteLanes), to, count);
}

// body(first, count) over [0, n), `count` lanes each: all of them, a constant, but for the last.
template <typename Body>
void over_lanes(int64_t n, const Body& body) {
  int64_t first = 0;
  for (; first + lane_count <= n; first += lane_count) {
    body(first, std::integral_constant<int, lane_count>{});
  }
  if (first < n) body(first, static_cast<int>(n - first));
}

}  // namespace spire
