// The inner loops of matrix products: a tile of fp32 sums stays in registers while k runs, and each
// k adds the outer product of a few numbers of a and a row of b. b is in panels of at most 64
// columns. k ascends, so the order of each sum does not depend on where tiles begin and end.
#pragma once
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/simd.h"

namespace spire::product {

constexpr int panel_registers = 4;
constexpr int64_t panel_width = panel_registers * lane_count;

// Returns the most rows of a tile of `registers` registers per row: its sums, a row of b and a
// number of a fit into the 32 registers of AVX-512.
constexpr int tile_rows(int registers) {
  return registers == 4 ? 6 : 8;
}

// panel_count(): number of panels that hold `columns` columns. registers_of(): number of registers
// that a row of panel `index` fills.
constexpr int64_t panel_count(int64_t columns) {
  return (columns + panel_width - 1) / panel_width;
}
constexpr int registers_of(int64_t columns, int64_t index) {
  int64_t left = columns - index * panel_width;
  return left >= panel_width ? panel_registers
                             : static_cast<int>((left + lane_count - 1) / lane_count);
}

// `depth` consecutive k, which begin at number `a` of each row of a and at row `b` of the panel.
struct Segment {
  int64_t a = 0, b = 0, depth = 0;
};

// Sums of a tile. Loops work on a local copy, which compilers keep in registers.
template <int rows, int registers>
struct TileSums {
  FloatLanes at[rows][registers] = {};
};

// Adds a[i][k] * panel[k][j], summed over the k of a segment, to result[i][j]. a: the tile's rows
// of a.
template <int rows, int registers>
void add_products(const float* const (&a)[rows], const Segment& segment, const float* panel,
                  TileSums<rows, registers>& result) {
  TileSums<rows, registers> sums = result;
  const float* b = panel + segment.b * registers * lane_count;
  const float* at[rows];
  for (int i = 0; i < rows; ++i) at[i] = a[i] + segment.a;
  for (int64_t k = 0; k < segment.depth; ++k) {
    FloatLanes row[registers];
    for (int j = 0; j < registers; ++j)
      row[j] = load_floats(b + (k * registers + j) * lane_count, lane_count);
    for (int i = 0; i < rows; ++i) {
      FloatLanes factor = all_lanes(at[i][k]);
      for (int j = 0; j < registers; ++j) sums.at[i][j] += factor * row[j];
    }
  }
  result = sums;
}

// Adds a[k][i] * b[k][j] over `depth` rows of a, which are `stride` apart, and the rows of b at
// b + offsets[k].
template <int rows, int registers>
void add_outer_products(const float* a, int64_t stride, const float* b, const int64_t* offsets,
                        int64_t depth, TileSums<rows, registers>& result) {
  TileSums<rows, registers> sums = result;
  for (int64_t k = 0; k < depth; ++k) {
    const float* from = b + offsets[k];
    FloatLanes row[registers];
    for (int j = 0; j < registers; ++j) row[j] = load_floats(from + j * lane_count, lane_count);
    for (int i = 0; i < rows; ++i) {
      FloatLanes factor = all_lanes(a[k * stride + i]);
      for (int j = 0; j < registers; ++j) sums.at[i][j] += factor * row[j];
    }
  }
  result = sums;
}

// Calls body(std::integral_constant<int, number>) for a number in [1, most]; does nothing for
// others.
template <int most, typename Body>
void with_constant(int number, const Body& body) {
  if constexpr (most > 0) {
    if (number == most) return body(std::integral_constant<int, most>{});
    with_constant<most - 1>(number, body);
  }
}

// Splits [begin, end) into the fewest tiles of at most `most` rows, as equal as possible, and calls
// body(first, rows) for each.
template <typename Body>
void over_tiles(int64_t begin, int64_t end, int most, const Body& body) {
  int64_t count = (end - begin + most - 1) / most, first = begin;
  for (int64_t t = 1; t <= count; ++t) {
    int64_t last = begin + (end - begin) * t / count;
    body(first, static_cast<int>(last - first));
    first = last;
  }
}

}  // namespace spire::product
