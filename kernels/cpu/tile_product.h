// Products of small fp32 matrices in the cache, c = a b or c += a b, with a (R, K), b (K, W), c (R,
// W): too small to be worth the overhead of a library call.
#pragma once
#include <algorithm>

#include "kernels/cpu/register_tiles.h"

namespace spire::tile_product {

// A matrix a or its transpose: element (i, k) is data[i * row + k * column].
struct Factor {
  const float* data;
  int64_t row, column;
};

// Matrix b (Rows) and matrix c (Sums): rows fill whole registers and are `stride` floats apart.
struct Rows {
  const float* data;
  int64_t stride;
};
struct Sums {
  float* data;
  int64_t stride;
  bool add;  // += instead of =
};

// 6 x 4 registers for sums, 4 for a row of b, 1 for an element of a: 29 of the 32 of AVX-512.
constexpr int tile_rows = 6, tile_registers = 4;

// Computes a tile of c, (rows, registers * 16), which stays in registers while k runs: each k adds
// the outer product of a column of a and a row of b. k ascends, so the order of sums is the same in
// all tiles.
template <int rows, int registers>
void tile(const Factor& a, const Rows& b, int64_t depth, const Sums& c) {
  FloatLanes sums[rows][registers];
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < registers; ++j) {
      const float* from = c.data + i * c.stride + j * lane_count;
      sums[i][j] = c.add ? load_floats(from, lane_count) : FloatLanes{};
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
    FloatLanes row[registers];
    for (int j = 0; j < registers; ++j) {
      row[j] = load_floats(b.data + k * b.stride + j * lane_count, lane_count);
    }
    for (int i = 0; i < rows; ++i) {
      FloatLanes factor = all_lanes(a.data[i * a.row + k * a.column]);
      for (int j = 0; j < registers; ++j) sums[i][j] += factor * row[j];
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < registers; ++j) {
      store_floats(sums[i][j], c.data + i * c.stride + j * lane_count, lane_count);
    }
  }
}

// Computes a column of tiles.
template <int registers>
void column(int64_t rows, const Factor& a, const Rows& b, int64_t depth, const Sums& c) {
  int64_t i = 0;
  auto a_at = [&] { return Factor{a.data + i * a.row, a.row, a.column}; };
  auto c_at = [&] { return Sums{c.data + i * c.stride, c.stride, c.add}; };
  for (; i + tile_rows <= rows; i += tile_rows) {
    tile<tile_rows, registers>(a_at(), b, depth, c_at());
  }
  product::with_constant<tile_rows - 1>(static_cast<int>(rows - i), [&](auto last_rows) {
    tile<last_rows(), registers>(a_at(), b, depth, c_at());
  });
}

// Computes the whole c. rows = R, depth = K, and width = W, a multiple of lane_count.
inline void multiply(int64_t rows, int64_t depth, int64_t width, const Factor& a, const Rows& b,
                     const Sums& c) {
  for (int64_t j = 0; j < width; j += tile_registers * lane_count) {
    Rows b_at{b.data + j, b.stride};
    Sums c_at{c.data + j, c.stride, c.add};
    auto registers = static_cast<int>(std::min<int64_t>(tile_registers, (width - j) / lane_count));
    product::with_constant<tile_registers>(
        registers, [&](auto count) { column<count()>(rows, a, b_at, depth, c_at); });
  }
}

}  // namespace spire::tile_product
