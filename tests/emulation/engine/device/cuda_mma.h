// Emulation of engine/device/cuda_mma.h, which has the contracts: the last lane of a warp to arrive
// does the work of all. Sums of a product are rounded toward zero, as tensor cores truncate.
#pragma once
#include <cmath>
#include <cstdint>

#include <cuda_runtime.h>

#include <spire/tensor.h>

#include "engine/device/cuda_kernel.h"

namespace spire {

namespace emulation {

struct ProductLane {
  float* sums;
  const uint32_t* a;
  uint32_t b[2];
};

template <typename T>
double half_of(uint32_t word, int index) {
  T value;
  value.bits = static_cast<uint16_t>(word >> (16 * index));
  return static_cast<double>(static_cast<float>(value));
}

inline float cut(double value) {
  auto nearest = static_cast<float>(value);
  return std::abs(static_cast<double>(nearest)) > std::abs(value) ? std::nextafter(nearest, 0.0f)
                                                                  : nearest;
}

template <typename T>
void multiply_fragments(const uint64_t* lanes) {
  double a[16][16], b[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const auto& part = *value_of<const ProductLane*>(lanes[lane]);
    int group = lane / 4, pair = 2 * (lane % 4);
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < 4; ++i)
        a[group + 8 * (i % 2)][pair + 8 * (i / 2) + half] = half_of<T>(part.a[i], half);
      for (int i = 0; i < 2; ++i) b[pair + 8 * i + half][group] = half_of<T>(part.b[i], half);
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    const auto& part = *value_of<const ProductLane*>(lanes[lane]);
    for (int i = 0; i < 4; ++i) {
      int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      double sum = static_cast<double>(part.sums[i]);
      for (int k = 0; k < 16; ++k) sum += a[row][k] * b[k][column];
      part.sums[i] = cut(sum);
    }
  }
}

struct MatrixLane {
  uint32_t* words;
  const void* row;
};

template <bool transposed>
void load_fragments(const uint64_t* lanes) {
  auto part = [&](int lane) { return *value_of<const MatrixLane*>(lanes[lane]); };
  for (int matrix = 0; matrix < 4; ++matrix) {
    Pack<uint16_t, 8> rows[8];
    for (int row = 0; row < 8; ++row)
      rows[row] = *static_cast<const Pack<uint16_t, 8>*>(part(8 * matrix + row).row);
    for (int lane = 0; lane < 32; ++lane) {
      int group = lane / 4, pair = 2 * (lane % 4);
      uint32_t first = transposed ? rows[pair].at[group] : rows[group].at[pair];
      uint32_t second = transposed ? rows[pair + 1].at[group] : rows[group].at[pair + 1];
      part(lane).words[matrix] = first | second << 16;
    }
  }
}

}  // namespace emulation

template <typename T>
void mma_16x8x16(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  const emulation::ProductLane lane{sums, a, {b0, b1}};
  emulation::meet_warp(0xffffffffu, emulation::word_of(&lane), emulation::multiply_fragments<T>);
}

inline void load_matrices(uint32_t (&words)[4], const void* row) {
  const emulation::MatrixLane lane{words, row};
  emulation::meet_warp(0xffffffffu, emulation::word_of(&lane), emulation::load_fragments<false>);
}
inline void load_matrices_transposed(uint32_t (&words)[4], const void* row) {
  const emulation::MatrixLane lane{words, row};
  emulation::meet_warp(0xffffffffu, emulation::word_of(&lane), emulation::load_fragments<true>);
}

template <typename T>
uint32_t halves_of(float first, float second) {
  return T(first).bits | uint32_t{T(second).bits} << 16;
}

}  // namespace spire
