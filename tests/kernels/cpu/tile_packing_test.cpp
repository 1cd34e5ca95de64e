#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <spire/random_stream.h>

#include "kernels/cpu/weight_packing.h"

namespace spire {
namespace {

// Element (n, k) of the layout, said one at a time.
int64_t place(const TileLayout& l, int64_t n, int64_t k) {
  int64_t tile = n / l.rows * l.row_stride + k / 16 * 16 * l.rows;
  int64_t row = n % l.rows, column = k % 16;
  if (l.dtype == DType::f32) return tile + column * l.rows + row;
  return tile + column / 2 * 2 * l.rows + 2 * row + column % 2;
}

// Packs the rows in two calls, as two threads would, and compares every element.
template <typename T>
void expect_packed(const TileLayout& layout) {
  std::vector<float> plain(static_cast<size_t>(layout.n * layout.k));
  RandomStream random(1, Purpose::initialize);
  for (size_t i = 0; i < plain.size(); ++i) plain[i] = random.uniform(i) - 0.5f;
  plain[3] = std::numeric_limits<float>::infinity();
  std::vector<T> packed(plain.size());
  pack_tiles(layout, plain.data(), packed.data(), layout.rows, layout.n);
  pack_tiles(layout, plain.data(), packed.data(), 0, layout.rows);
  for (int64_t n = 0; n < layout.n; ++n)
    for (int64_t k = 0; k < layout.k; ++k) {
      float value = plain[static_cast<size_t>(n * layout.k + k)];
      ASSERT_EQ(float(packed[static_cast<size_t>(place(layout, n, k))]), float(T(value)))
          << n << ", " << k;
    }
}

TEST(TilePacking, PutsEveryElementInItsPlace) {
  for (auto [n, k, rows] :
       {std::array<int64_t, 3>{16, 16, 16}, {64, 48, 64}, {128, 784, 64}, {96, 32, 32}}) {
    expect_packed<float>({n, k, rows, rows * k, DType::f32});
    expect_packed<bfloat16>({n, k, rows, rows * k, DType::bf16});
  }
}

// Rounding by an addition could carry a NaN over into an infinity or zero.
TEST(TilePacking, KeepsNanAsNan) {
  std::vector<float> plain(256, std::numeric_limits<float>::quiet_NaN());
  std::vector<bfloat16> packed(256);
  pack_tiles({16, 16, 16, 256, DType::bf16}, plain.data(), packed.data(), 0, 16);
  for (bfloat16 value : packed) EXPECT_NE(float(value), float(value));
}

}  // namespace
}  // namespace spire
