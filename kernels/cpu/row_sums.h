// Reductions for CPU kernels: over one row, or over all rows for gradients of parameters. Of all
// rows, each chunk of rows is summed, then the chunks' sums are added in order. Only the number of
// rows fixes the chunks, so the bits do not depend on the number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cpu/simd.h"

namespace spire {

// Returns the sum of term(i, count) over [0, n). term() must return 0 in lanes from `count` on.
// Four sums hide the latency of an addition.
template <typename Term>
float sum_over(int64_t n, const Term& term) {
  constexpr int64_t step = 4 * lane_count;
  constexpr std::integral_constant<int, lane_count> all;
  FloatLanes a{}, b{}, c{}, d{};
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    a += term(i, all);
    b += term(i + lane_count, all);
    c += term(i + 2 * lane_count, all);
    d += term(i + 3 * lane_count, all);
  }
  over_lanes(n - i, [&](int64_t at, auto count) { a += term(i + at, count); });
  return sum_of((a + b) + (c + d));
}

// Returns the largest element of a row, which softmax and its losses subtract from each exponent.
template <typename T>
float largest_of_row(const T* x, int64_t width) {
  float most = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : most)
  for (int64_t c = 0; c < width; ++c) most = std::max(most, static_cast<float>(x[c]));
  return most;
}

// Divides rows into at most 64 chunks of at least 64 rows; only the last may have fewer.
struct RowChunks {
  int64_t rows, chunk_rows, chunks;

  explicit RowChunks(int64_t row_count)
      : rows(row_count),
        chunk_rows(std::max<int64_t>(64, (row_count + 63) / 64)),
        chunks((row_count + chunk_rows - 1) / chunk_rows) {}

  int64_t begin(int64_t chunk) const { return chunk * chunk_rows; }
  int64_t end(int64_t chunk) const { return std::min(begin(chunk + 1), rows); }
};

// Sets total (width) to the sum of all chunks' sums, added in the order of the chunks. The sums
// of chunk k are the `width` floats at sums + k * pitch.
inline void add_up_chunks(const RowChunks& c, const float* sums, int64_t pitch, int64_t width,
                          float* total) {
  over_lanes(width, [&](int64_t i, auto count) {
    FloatLanes lanes{};
    for (int64_t k = 0; k < c.chunks; ++k) lanes += load_floats(sums + k * pitch + i, count);
    store_floats(lanes, total + i, count);
  });
}

}  // namespace spire
