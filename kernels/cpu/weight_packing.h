// Packing of weights into the panels that row_product.h reads, and into the tiles of oneDNN.
#pragma once
#include <spire/packing.h>

#include "kernels/kernel.h"

namespace spire {

// Layout in which oneDNN's matrix products read weights (N, K): tiles of 16 k by `rows` n, stored
// as [k][n] in fp32 and as [k / 2][n][k % 2] in bf16. pack_tiles() is several times faster than
// oneDNN's reorder.
struct TileLayout {
  int64_t n = 0, k = 0;      // n a multiple of `rows`, k of 16
  int64_t rows = 0;          // n per tile, a multiple of 16
  int64_t row_stride = 0;    // elements from a tile to the next along n; along k they are adjacent
  DType dtype = DType::f32;  // f32 | bf16
};

// Packs rows [first, last) of `plain` (N, K) fp32 into the same rows of `packed`. first, last:
// multiples of layout.rows.
void pack_tiles(const TileLayout& layout, const float* plain, void* packed, int64_t first,
                int64_t last);

}  // namespace spire

namespace spire::product {

// How a plain fp32 weight tensor is read as a matrix (taps * inner, columns): row tap * inner + i,
// column j is plain[j * column_stride + i * inner_stride + tap]. flipped: the last tap comes first.
struct PanelLayout {
  int64_t columns = 0, inner = 0, taps = 1;
  int64_t column_stride = 0, inner_stride = 0;
  bool flipped = false;
  DType dtype = DType::f32;  // of the panels: f32 | bf16

  int64_t depth() const { return inner * taps; }
  int64_t row(int64_t tap, int64_t i) const { return (flipped ? taps - 1 - tap : tap) * inner + i; }
};

// Returns the packing of the op's input `input` into panels, one panel per unit; zeros fill up the
// registers of the last panel.
Packing panel_packing(int input, const PanelLayout& layout);

}  // namespace spire::product
