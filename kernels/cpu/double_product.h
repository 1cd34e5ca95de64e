// Products of fp64 matrices by tiles in registers. For sums that are exact in any order.
#pragma once
#include <cstdint>

namespace spire::inline kernels {

// Element (i, k) of a matrix, or of its transpose, lies at i * row + k * column.
struct DoubleMatrix {
  const double* data;
  int64_t row, column;
};

namespace double_product {

// c[R][C] += a[R][k] b[k][C]
template <int R, int C>
void add_tile(int64_t k, const DoubleMatrix& a, const double* b, int64_t b_row, double* c,
              int64_t c_row) {
  double sums[R][C] = {};
  for (int64_t p = 0; p < k; ++p) {
    const double* of_b = b + p * b_row;
    for (int i = 0; i < R; ++i) {
      double of_a = a.data[i * a.row + p * a.column];
      for (int j = 0; j < C; ++j) sums[i][j] += of_a * of_b[j];
    }
  }
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < C; ++j) c[i * c_row + j] += sums[i][j];
}

template <int R>
void add_rows(int64_t n, int64_t k, const DoubleMatrix& a, const double* b, int64_t b_row,
              double* c, int64_t c_row) {
  int64_t j = 0;
  for (; j + 8 <= n; j += 8) add_tile<R, 8>(k, a, b + j, b_row, c + j, c_row);
  for (; j < n; ++j) add_tile<R, 1>(k, a, b + j, b_row, c + j, c_row);
}

}  // namespace double_product

// c (m, n) += a (m, k) b (k, n); rows of b and c begin b_row and c_row elements apart.
inline void add_product(int64_t m, int64_t n, int64_t k, DoubleMatrix a, const double* b,
                        int64_t b_row, double* c, int64_t c_row) {
  int64_t i = 0;
  for (; i + 4 <= m; i += 4, a.data += 4 * a.row)
    double_product::add_rows<4>(n, k, a, b, b_row, c + i * c_row, c_row);
  for (; i < m; ++i, a.data += a.row)
    double_product::add_rows<1>(n, k, a, b, b_row, c + i * c_row, c_row);
}

}  // namespace spire::inline kernels
