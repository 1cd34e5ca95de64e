// Packing of plain (N, K) fp32 weights into the tiles that oneDNN's matrix products read:
//   fp32: tiles of 16 k by `rows` n, laid out [k][n]
//   bf16: the same tile laid out [k / 2][n][k % 2], so that two neighbouring k share a 32-bit word
// Packing a tile transposes it, 16 x 16 at a time in registers. That is several times faster than
// oneDNN's reorder, and every step packs all weights.
#pragma once
#include <cstdint>

#include "engine/base/dtype.h"

namespace spire::inline kernels {

struct TileLayout {
  int64_t n = 0, k = 0;      // n a multiple of `rows`, k of 16
  int64_t rows = 0;          // n per tile, a multiple of 16
  int64_t row_stride = 0;    // elements from one tile to the next along n
  DType dtype = DType::f32;  // f32 | bf16
};

// Packs rows [first, last) of `plain`, a (N, K) fp32 matrix, into the same rows of `packed`. Tiles
// along k are contiguous. REQUIRES: first and last are multiples of `rows`.
void pack_tiles(const TileLayout& layout, const float* plain, void* packed, int64_t first,
                int64_t last);

}  // namespace spire::inline kernels
