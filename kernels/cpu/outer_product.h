// Sums of outer products in fp32, y = a^T b over many rows of a and b: gradients of weights.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/cpu/register_tiles.h"

namespace spire::product {

// Rows of a: columns [64 p, 64 p + 64) of row k are at data + p * panel_stride + k * row_stride.
struct OuterRows {
  const float* data = nullptr;
  int64_t panel_stride = 0, row_stride = 0;
};

// Columns of y beside each other whose b are beside each other, too: column j of row k of b is at
// b + offsets[k] + from + j. Every row may be read up to a multiple of 16 columns.
struct ColumnGroup {
  int64_t from = 0, to = 0, width = 0;  // offset in b, first column of y, number of columns
};

struct OuterProduct {
  int64_t stride = 0;                // of y, in floats
  std::vector<ColumnGroup> columns;  // of y
  int threads = 1;                   // results do not depend on it

  // Writes y, or adds to it, the sum over offsets[0, depth). rows: of y, which are columns of a.
  void run(int64_t rows, const OuterRows& a, const float* b, const int64_t* offsets, int64_t depth,
           float* y, bool add) const;
};

}  // namespace spire::product
