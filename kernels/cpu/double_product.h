// Products of fp64 matrices, c += a b, by tiles in registers. exact_product uses them: its sums are
// exact in any order. b is stored in panels of 16 columns, so that a tile reads it sequentially.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

namespace spire {

// Element (i, k) of a matrix, or of its transpose, lies at i * row + k * column.
struct DoubleMatrix {
  const double* data;
  int64_t row, column;
};

// Layout of b (depth, columns): a panel stores its rows k one after another, 16 numbers each;
// columns that the last panel lacks are zeros. size() and at(), the offset of row k of a panel,
// count doubles.
struct DoublePanels {
  static constexpr int64_t width = 16;

  int64_t depth, columns;

  int64_t count() const { return (columns + width - 1) / width; }
  int64_t size() const { return count() * width * depth; }
  int64_t at(int64_t k, int64_t panel) const { return (panel * depth + k) * width; }
  int64_t width_of(int64_t panel) const { return std::min(width, columns - panel * width); }
};

namespace double_product {

using DoubleLanes [[gnu::vector_size(DoublePanels::width / 2 * 8)]] = double;

static_assert(sizeof(DoubleLanes) * 2 == DoublePanels::width * sizeof(double));
constexpr int64_t deepest = 192;  // rows of a panel per pass, which stay in the L1 cache

// c[R][16] += a[R][k] b[k][16]
template <int R>
void add_tile(int64_t k, const DoubleMatrix& a, const double* b, double* c, int64_t c_row,
              int64_t columns) {
  DoubleLanes sums[R][2] = {};
  for (int64_t p = 0; p < k; ++p) {
    DoubleLanes row[2];
    std::memcpy(row, b + p * DoublePanels::width, sizeof(row));
    for (int i = 0; i < R; ++i) {
      double factor = a.data[i * a.row + p * a.column];
      for (int j = 0; j < 2; ++j) sums[i][j] += factor * row[j];
    }
  }
  for (int i = 0; i < R; ++i) {
    double numbers[DoublePanels::width];
    std::memcpy(numbers, sums[i], sizeof(numbers));
    for (int64_t j = 0; j < columns; ++j) c[i * c_row + j] += numbers[j];
  }
}

}  // namespace double_product

// c (m, columns) += a (m, depth) b, where b is stored as `panels` says. c_row: elements from a row
// of c to the next.
inline void add_product(int64_t m, DoubleMatrix a, const DoublePanels& panels, const double* b,
                        double* c, int64_t c_row) {
  constexpr int tile = 4;
  for (int64_t k = 0; k < panels.depth; k += double_product::deepest) {
    int64_t depth = std::min(double_product::deepest, panels.depth - k);
    for (int64_t panel = 0; panel < panels.count(); ++panel) {
      const double* of_b = b + panels.at(k, panel);
      double* of_c = c + panel * DoublePanels::width;
      int64_t columns = panels.width_of(panel), i = 0;
      auto rows_from = [&](int64_t row) {
        return DoubleMatrix{a.data + row * a.row + k * a.column, a.row, a.column};
      };
      for (; i + tile <= m; i += tile)
        double_product::add_tile<tile>(depth, rows_from(i), of_b, of_c + i * c_row, c_row, columns);
      for (; i < m; ++i)
        double_product::add_tile<1>(depth, rows_from(i), of_b, of_c + i * c_row, c_row, columns);
    }
  }
}

}  // namespace spire
