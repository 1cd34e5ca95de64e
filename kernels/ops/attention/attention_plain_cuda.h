// Tile products of attention on plain cores, in fp32. A block of 256 threads computes 64 x 64
// scores and 64 rows of a result from tiles in shared memory. Thread t = 16 * team + member has
// rows 4 * team to 4 * team + 3: in the scores columns member + 16 * j (j < 4), in the result every
// 16th pack of columns. With these 16 scores per thread, each value read from shared memory is used
// four times. For attention's .cu files.
#pragma once
#include <memory>
#include <type_traits>

#include "engine/device/cuda_kernel.h"
#include "kernels/kernel.h"
#include "kernels/ops/attention/attention_cuda.h"

namespace spire::attention_cuda {

constexpr int threads = 256;
constexpr int members = 16, team_rows = 4;

// Columns of a head, and rows of a tile, that are multiplied at a time.
constexpr int slice = 32;
// Row pitches of tiles, in floats: 4 more than a row has, so that rows begin in different banks.
constexpr int slice_pitch = slice + 4, score_pitch = block + 4;

// Shared memory of a block.
struct AttentionShared {
  Pack<float, 4> tiles[2 * block * slice_pitch / 4];
  Pack<float, 4> scores[block * score_pitch / 4];
  KeepBits<block, block> keep;

  __device__ float* tile() { return tiles[0].at; }
  __device__ float* score() { return scores[0].at; }
};

__device__ inline int team() {
  return static_cast<int>(threadIdx.x) / members;
}
__device__ inline int member() {
  return static_cast<int>(threadIdx.x) % members;
}

// Reduces over the threads of a team; all of them get the result.
template <typename Combine>
__device__ float team_reduce(float value, Combine combine) {
  for (int step = members / 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(full_warp, value, step));
  return value;
}

// Loads the tile (rows, columns) at (row, column), with zeros outside `from`, into rows of pitch
// columns + 4. packs: rows in memory are aligned for packs of 16 bytes.
template <bool packs, int rows, int columns, typename T>
__device__ void load_tile(const RowView<const T>& from, int row, int column, float* to) {
  constexpr int N = packs ? pack_width<T> : 1;
#pragma unroll 2  // more would not leave the registers that scores and results need
  for (int i = static_cast<int>(threadIdx.x) * N; i < rows * columns; i += threads * N) {
    int r = i / columns, c = i % columns;
    Pack<T, N> pack{};
    if (row + r < from.rows && column + c < from.size)
      pack = load_pack<N>(from.at + int64_t{row + r} * from.stride + column + c);
    for (int k = 0; k < N; ++k)
      to[r * (columns + 4) + c + k] = from.factor * static_cast<float>(pack.at[k]);
  }
}

// Adds to each of the thread's scores[r][j] the dot product of its row of a and its row of b.
template <bool packs, typename T>
__device__ void add_products(const RowView<const T>& a, const RowView<const T>& b,
                             AttentionShared& shared, float (&scores)[team_rows][team_rows]) {
  float *left = shared.tile(), *right = left + block * slice_pitch;
  for (int column = 0; column < a.size; column += slice) {
    __syncthreads();  // earlier tiles have been read
    load_tile<packs, block, slice>(a, 0, column, left);
    load_tile<packs, block, slice>(b, 0, column, right);
    __syncthreads();
#pragma unroll 1  // more would take the registers that the scores need
    for (int c = 0; c < slice; c += 4) {
      Pack<float, 4> x[team_rows], y[team_rows];
      for (int r = 0; r < team_rows; ++r) {
        x[r] = load_pack<4>(left + (team_rows * team() + r) * slice_pitch + c);
        y[r] = load_pack<4>(right + (member() + members * r) * slice_pitch + c);
      }
      for (int k = 0; k < 4; ++k)
        for (int r = 0; r < team_rows; ++r)
          for (int j = 0; j < team_rows; ++j) scores[r][j] += x[r].at[k] * y[j].at[k];
    }
  }
}

// Writes the thread's scores to shared memory; others may read them after the next barrier.
__device__ inline void share_scores(const float (&scores)[team_rows][team_rows],
                                    AttentionShared& shared) {
  __syncthreads();  // earlier scores have been read
  for (int r = 0; r < team_rows; ++r)
    for (int j = 0; j < team_rows; ++j)
      shared.score()[(team_rows * team() + r) * score_pitch + member() + members * j] =
          scores[r][j];
}

// A thread's part of 64 result rows of D columns: for each g, columns first_column(g) to
// first_column(g) + pack - 1.
template <int D>
struct ResultRows {
  static constexpr int pack = D / members < 4 ? D / members : 4;
  static constexpr int packs = D / members / pack;
  float at[team_rows][packs][pack] = {};

  __device__ static int first_column(int g) { return (g * members + member()) * pack; }

  __device__ void scale_row(int r, float factor) {
    for (int g = 0; g < packs; ++g)
      for (int i = 0; i < pack; ++i) at[r][g][i] *= factor;
  }

  // Adds the product of the shared scores (64, 64) and rows (64, D).
  template <bool take_packs, typename T>
  __device__ void add(const RowView<const T>& rows, AttentionShared& shared) {
    const float* scores = shared.score() + team_rows * team() * score_pitch;
    for (int row = 0; row < rows.rows; row += slice) {
      __syncthreads();  // scores are written, earlier tiles have been read
      load_tile<take_packs, slice, D>(rows, row, 0, shared.tile());
      __syncthreads();
#pragma unroll 1
      for (int j = 0; j < slice; j += 4) {
        Pack<float, 4> score[team_rows];
        for (int r = 0; r < team_rows; ++r)
          score[r] = load_pack<4>(scores + r * score_pitch + row + j);
        for (int k = 0; k < 4; ++k) add_row(score, k, shared.tile() + (j + k) * (D + 4));
      }
    }
  }

  // Stores row r times factors[r] as elements of T.
  template <bool take_packs, typename T>
  __device__ void store(const RowView<T>& to, const float (&factors)[team_rows]) const {
    for (int r = 0; r < team_rows; ++r) {
      int row = team_rows * team() + r;
      if (row >= to.rows) continue;
      for (int g = 0; g < packs; ++g) {
        int column = first_column(g);
        Pack<T, pack> values;
        for (int i = 0; i < pack; ++i) values.at[i] = T(at[r][g][i] * (to.factor * factors[r]));
        T* place = to.at + int64_t{row} * to.stride + column;
        if (take_packs) {
          if (column < to.size) store_pack(values, place);
        } else {
          for (int i = 0; i < pack && column + i < to.size; ++i) place[i] = values.at[i];
        }
      }
    }
  }

 private:
  __device__ void add_row(const Pack<float, 4> (&score)[team_rows], int k, const float* row) {
    for (int g = 0; g < packs; ++g) {
      auto values = load_pack<pack>(row + first_column(g));
      for (int r = 0; r < team_rows; ++r)
        for (int i = 0; i < pack; ++i) at[r][g][i] += score[r].at[k] * values.at[i];
    }
  }
};

// The least number of blocks that an SM must hold at a time, for heads of D columns: two, but one
// if the result takes more registers than two would leave.
template <int D>
constexpr int blocks_an_sm = D > 64 ? 1 : 2;

template <int value>
using Constant = std::integral_constant<int, value>;

// Calls visit(D, packs): D is the head's size rounded up to 32, 64 or largest_size, a Constant;
// packs is a bool_constant, true if its rows are aligned for packs of T.
template <typename T, typename Visit>
Kernel with_plain_size(int size, const Visit& visit) {
  auto with_size = [&](auto columns) {
    if (rows_take_packs<pack_width<T>>(size)) return visit(columns, std::true_type{});
    return visit(columns, std::false_type{});
  };
  if (size <= 32) return with_size(Constant<32>{});
  if (size <= 64) return with_size(Constant<64>{});
  return with_size(Constant<largest_size>{});
}

}  // namespace spire::attention_cuda
