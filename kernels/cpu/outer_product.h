// Products y = a^T b in fp32 over many rows of a and b: gradients of weights.
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

// Adjacent columns of y, made from adjacent numbers of each row of b: column `to` + j, j < width,
// reads b[offsets[k] + from + j] of row k. The loads may read up to 15 floats past the last of
// these numbers.
struct ColumnGroup {
  int64_t from = 0, to = 0, width = 0;  // offset in b, first column of y, number of columns
};

struct OuterProduct {
  int64_t stride = 0;                // of y, in floats
  std::vector<ColumnGroup> columns;  // of y
  int threads = 1;                   // results do not depend on it

  // Sets y to the sum over rows k < depth of a and b, or adds the sum to y if `add` is true. rows:
  // of y, one per column of a. offsets: (depth), where in b each row k begins.
  void run(int64_t rows, const OuterRows& a, const float* b, const int64_t* offsets, int64_t depth,
           float* y, bool add) const;
};

}  // namespace spire::product
