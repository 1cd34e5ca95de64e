#include "kernels/cpu/outer_product.h"

#include <algorithm>

#include "kernels/cpu/parallel.h"

namespace spire::product {
namespace {

// Rows of a and b that stay in the first-level cache; more where y is too large for the second, so
// that y is read and written less often.
constexpr int64_t chunk_depth = 128, deep_chunk = 512;
constexpr int64_t large_floats = int64_t{1} << 18;

// Adds one chunk of k to a tile of y, of which only the last register may be partly filled.
template <int rows, int registers>
void add_chunk(const float* a, int64_t a_stride, const float* b, const int64_t* offsets,
               int64_t depth, float* y, int64_t y_stride, int64_t width, bool add) {
  auto count = [&](int j) {
    return j + 1 < registers ? lane_count : static_cast<int>(width - j * lane_count);
  };
  TileSums<rows, registers> sums;
  if (add) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < registers; ++j)
        sums.at[i][j] = load_floats(y + i * y_stride + j * lane_count, count(j));
  }
  add_outer_products<rows, registers>(a, a_stride, b, offsets, depth, sums);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < registers; ++j)
      store_floats(sums.at[i][j], y + i * y_stride + j * lane_count, count(j));
}

}  // namespace

void OuterProduct::run(int64_t rows, const OuterRows& a, const float* b, const int64_t* offsets,
                       int64_t depth, float* y, bool add) const {
  auto compute = [&](const ColumnGroup& group, int64_t j, int64_t begin, int64_t count) {
    int64_t width = std::min(panel_width, group.width - j);
    with_constant<panel_registers>(registers_of(width, 0), [&](auto r) {
      constexpr int registers = decltype(r)::value, most = tile_rows(registers);
      for (int64_t panel = 0; panel < panel_count(rows); ++panel) {
        int64_t first = panel * panel_width, last = std::min(rows, first + panel_width);
        over_tiles(first, last, most, [&](int64_t row, int tile_size) {
          with_constant<most>(tile_size, [&](auto t) {
            constexpr int tile = decltype(t)::value;
            add_chunk<tile, registers>(
                a.data + panel * a.panel_stride + begin * a.row_stride + (row - first),
                a.row_stride, b + group.from + j, offsets + begin, count,
                y + row * stride + group.to + j, stride, width, add || begin > 0);
          });
        });
      }
    });
  };
  int64_t panels = 0;
  for (const ColumnGroup& group : columns) panels += panel_count(group.width);
  int64_t chunk = rows * stride > large_floats ? deep_chunk : chunk_depth;
  parallel_for(threads, panels, 1, [&](int64_t first, int64_t last, int) {
    for (int64_t begin = 0; begin < depth; begin += chunk) {
      int64_t count = std::min(chunk, depth - begin), panel = 0;
      for (const ColumnGroup& group : columns)
        for (int64_t j = 0; j < group.width; j += panel_width, ++panel)
          if (panel >= first && panel < last) compute(group, j, begin, count);
    }
  });
}

}  // namespace spire::product
