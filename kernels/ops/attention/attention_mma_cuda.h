// Tile products of attention on tensor cores. A block of four warps computes 64 rows of a result,
// 16 per warp: for rows of queries it loops over tiles of keys and values in shared memory, for
// rows of keys over tiles of queries. Scores never leave the registers: the sums of one product,
// rounded to 16 bits, are the left operand of the next, as the two have the same layout over lanes.
// For attention's .cu files.
//
// Operands are words of two elements, sums are fp32. In a (16, 8) tile of sums, a lane (a thread of
// the warp) holds rows group() and group() + 8, columns pair() and pair() + 1 (cuda_mma.h).
#pragma once
#include <bit>
#include <limits>
#include <memory>
#include <type_traits>

#include "engine/device/cuda_kernel.h"
#include "engine/device/cuda_mma.h"
#include "kernels/ops/attention/attention_cuda.h"

namespace spire::attention_mma {

using namespace attention_cuda;

constexpr int warp_rows = 16;
constexpr int threads = block / warp_rows * warp_threads;
constexpr float log2_e = 1.44269504f;

__device__ inline int lane() {
  return static_cast<int>(threadIdx.x) % warp_threads;
}
__device__ inline int group() {
  return lane() / 4;
}
__device__ inline int pair() {
  return lane() % 4 * 2;
}
// The first row of this warp in the block.
__device__ inline int first_row() {
  return static_cast<int>(threadIdx.x) / warp_threads * warp_rows;
}

// Rows of a head in shared memory, padded with zeros to D columns. The pitch is D plus one pack, so
// that the 8 rows of a matrix load begin in different banks.
template <int rows, int D>
struct MmaTile {
  static constexpr int pack = 8, row_packs = D / pack + 1;
  Pack<uint32_t, 4> at[rows * row_packs];

  template <typename T>
  __device__ void load(const RowView<const T>& from) {
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < rows * D / pack; i += threads) {
      int row = i / (D / pack), column = i % (D / pack) * pack;
      Pack<T, pack> elements{};
      if (row < from.rows && column < from.size)
        elements = load_pack<pack>(from.at + int64_t{row} * from.stride + column);
      at[row * row_packs + column / pack] = std::bit_cast<Pack<uint32_t, 4>>(elements);
    }
  }
  // Loads columns 16 * k to 16 * k + 15 of the warp's rows as a left operand.
  __device__ void left(int k, uint32_t (&words)[4]) const {
    load_matrices(words, place(first_row() + lane() % 16, lane() / 16, 0, k));
  }
  // Loads columns 16 * k to 16 * k + 15 of rows 16 * n to 16 * n + 15 as two right operands.
  __device__ void right(int k, int n, uint32_t (&words)[4]) const {
    load_matrices(words, place(lane() / 16 * 8 + lane() % 8, lane() / 8 % 2, n, k));
  }
  // Loads rows 16 * k to 16 * k + 15 of columns 16 * n to 16 * n + 15, transposed, as two right
  // operands.
  __device__ void right_transposed(int k, int n, uint32_t (&words)[4]) const {
    load_matrices_transposed(words, place(lane() % 16, lane() / 16, k, n));
  }

 private:
  // Returns the address of a row and a pack of columns within a (16, 16) matrix of the tile. The
  // terms that depend on the lane come first, so that the rest is a constant offset.
  __device__ const void* place(int row, int column, int row_block, int column_block) const {
    return at + (row * row_packs + column) + (16 * row_block * row_packs + 2 * column_block);
  }
};

// The warp's rows of a block as a left operand that stays in registers.
template <int D>
struct LeftRows {
  uint32_t words[D / 16][4];

  template <typename T>
  __device__ explicit LeftRows(const RowView<const T>& from) {
#pragma unroll
    for (int k = 0; k < D / 16; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        int row = first_row() + group() + 8 * (i % 2), column = 16 * k + pair() + 8 * (i / 2);
        Pack<T, 2> elements{};
        if (row < from.rows && column < from.size)
          elements = load_pack<2>(from.at + int64_t{row} * from.stride + column);
        words[k][i] = std::bit_cast<uint32_t>(elements);
      }
  }
  __device__ void left(int k, uint32_t (&to)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = words[k][i];
  }
};

// A lane's share of the fp32 sums of its warp's 16 rows.
template <int columns>
struct MmaSums {
  float at[columns / 8][4] = {};

  // Adds the dot products of the warp's rows and the rows of the tile.
  template <typename T, int D, typename Left>
  __device__ void add_products(const Left& rows, const MmaTile<columns, D>& tile) {
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      uint32_t a[4];
      rows.left(k, a);
#pragma unroll
      for (int n = 0; n < columns / 16; ++n) {
        uint32_t b[4];
        tile.right(k, n, b);
        mma_16x8x16<T>(at[2 * n], a, b[0], b[1]);
        mma_16x8x16<T>(at[2 * n + 1], a, b[2], b[3]);
      }
    }
  }

  // Adds the product of scores (16, rows), rounded to T, and the tile (rows, columns).
  template <typename T, int rows>
  __device__ void add_weighted(const MmaSums<rows>& scores, const MmaTile<rows, columns>& tile) {
#pragma unroll
    for (int k = 0; k < rows / 16; ++k) {
      const float(&low)[4] = scores.at[2 * k], (&high)[4] = scores.at[2 * k + 1];
      const uint32_t a[4] = {halves_of<T>(low[0], low[1]), halves_of<T>(low[2], low[3]),
                             halves_of<T>(high[0], high[1]), halves_of<T>(high[2], high[3])};
#pragma unroll
      for (int n = 0; n < columns / 16; ++n) {
        uint32_t b[4];
        tile.right_transposed(k, n, b);
        mma_16x8x16<T>(at[2 * n], a, b[0], b[1]);
        mma_16x8x16<T>(at[2 * n + 1], a, b[2], b[3]);
      }
    }
  }

  // Stores rows group() + 8 * half, half = 0 and 1, times factors[half], as elements of T.
  template <typename T>
  __device__ void store(const RowView<T>& to, const float (&factors)[2]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int row = first_row() + group() + 8 * half;
      if (row >= to.rows) continue;
      float factor = to.factor * factors[half];
#pragma unroll
      for (int n = 0; n < columns / 8; ++n) {
        int column = 8 * n + pair();
        if (column >= to.size) continue;
        uint32_t word = halves_of<T>(factor * at[n][2 * half], factor * at[n][2 * half + 1]);
        store_pack(std::bit_cast<Pack<T, 2>>(word), to.at + int64_t{row} * to.stride + column);
      }
    }
  }
  template <typename T>
  __device__ void store(const RowView<T>& to) const {
    constexpr float ones[2] = {1, 1};
    store(to, ones);
  }
};

// Calls visit(n, i, row, column) for each at[n][i] of a lane's sums; row is relative to the block.
template <int columns, typename Visit>
__device__ void each_sum(const Visit& visit) {
#pragma unroll
  for (int n = 0; n < columns / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      visit(n, i, first_row() + group() + 8 * (i / 2), 8 * n + pair() + i % 2);
}

// Returns true if some query of a tile does not see some key of it. Rows past the last query are
// not masked, as nobody reads their results.
__device__ inline bool needs_mask(const AttentionExtents& e, const DocumentStarts& starts,
                                  int first_query, int queries, int first_key, int keys) {
  int last_key = first_key + keys - 1;
  return last_key >= e.length || (e.causal && last_key > first_query) ||
         starts.of(first_query + queries - 1) > first_key;
}
// Returns how many keys, from key 0 on, include all keys that the block's queries see.
__device__ inline int keys_of(const AttentionExtents& e, int first_query) {
  int last = first_query + block;
  return e.causal && last < e.length ? last : e.length;
}
// start: the first key that the query sees.
__device__ inline bool sees(const AttentionExtents& e, int query, int key, int start) {
  return key < e.length && (!e.causal || key <= query) && key >= start;
}

// The first key that each of a lane's two rows of queries sees.
struct RowStarts {
  int at[2];

  __device__ RowStarts(const DocumentStarts& starts, int first_query) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      at[half] = starts.of(first_query + first_row() + group() + 8 * half);
  }
};
constexpr float masked = -std::numeric_limits<float>::infinity();

// Calls visit(T{}, D): D (integral_constant) is the head's size rounded up to 32, 64 or 128.
template <typename Visit>
Kernel with_mma_kernel(DType dtype, int size, const Visit& visit) {
  auto with_size = [&](auto type) {
    if (size <= 32) return visit(type, std::integral_constant<int, 32>{});
    if (size <= 64) return visit(type, std::integral_constant<int, 64>{});
    return visit(type, std::integral_constant<int, largest_size>{});
  };
  return dtype == DType::bf16 ? with_size(bfloat16{}) : with_size(float16{});
}

}  // namespace spire::attention_mma
