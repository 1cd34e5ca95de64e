// Packing of plain (N, K) fp32 weights into the tiles oneDNN's matrix products read:
//   fp32: tiles of 16 k by `rows` n, laid out [k][n]
//   bf16: the same tile laid out [k / 2][n][k % 2], so that a pair of k is one 32-bit unit
// Each tile is a transposition, done 16 by 16 in vector registers: several times quicker than
// oneDNN's own reorder, and packing is on the path of every step.
#pragma once
#include <cstdint>

#include "engine/base/dtype.h"

namespace spire::inline kernels {

struct TileLayout {
  int64_t n = 0, k = 0;      // multiples of `rows` and of 16
  int64_t rows = 0;          // of a tile, a multiple of 16
  int64_t row_stride = 0;    // elements from one tile to the next along n
  DType dtype = DType::f32;  // f32 | bf16
};

// plain (N, K) fp32 -> packed, rows n of [first, last) of both (multiples of `rows`); along k tiles
// follow each other.
void pack_tiles(const TileLayout& layout, const float* plain, void* packed, int64_t first,
                int64_t last);

}  // namespace spire::inline kernels
