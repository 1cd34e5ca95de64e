// Packing of plain (N, K) fp32 weights into the tiles that oneDNN's matrix products read, of 16 k
// by `rows` n: [k][n] in fp32, [k / 2][n][k % 2] in bf16. Several times faster than its reorder.
#pragma once
#include <cstdint>

#include <spire/tensor.h>

namespace spire {

struct TileLayout {
  int64_t n = 0, k = 0;      // n a multiple of `rows`, k of 16
  int64_t rows = 0;          // n per tile, a multiple of 16
  int64_t row_stride = 0;    // elements from a tile to the next along n; along k, they touch
  DType dtype = DType::f32;  // f32 | bf16
};

// Packs rows [first, last), multiples of `rows`, of `plain` (N, K) into the same rows of `packed`.
void pack_tiles(const TileLayout& layout, const float* plain, void* packed, int64_t first,
                int64_t last);

}  // namespace spire
