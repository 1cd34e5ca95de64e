#include "kernels/cpu/tile_product.h"

#include <array>
#include <cmath>
#include <limits>

#include <tests/kernels/op_test.h>

#include <spire/random_stream.h>

#include "kernels/cpu/weight_packing.h"

namespace spire::testing {
namespace {

struct Sizes {
  int64_t rows, depth, width;
  bool transposed, add;
};

std::vector<float> floats(int64_t count, uint64_t seed) {
  HostTensor values = uniform({count}, seed);
  return {values.data.begin(), values.data.end()};
}

// Every element of c against float64, and not one behind its rows.
void check(const Sizes& s) {
  int64_t stride = s.width + 16;
  auto a = floats(s.rows * s.depth, 321), b = floats(s.depth * s.width, 322);
  auto c = floats(s.rows * stride, 323);
  const auto before = c;
  tile_product::Factor factor{a.data(), s.transposed ? 1 : s.depth, s.transposed ? s.rows : 1};
  tile_product::multiply(s.rows, s.depth, s.width, factor, {b.data(), s.width},
                         {c.data(), stride, s.add});
  for (int64_t i = 0; i < s.rows; ++i) {
    for (int64_t j = 0; j < stride; ++j) {
      auto at = static_cast<size_t>(i * stride + j);
      double want = s.add || j >= s.width ? double{before[at]} : 0;
      for (int64_t k = 0; k < s.depth && j < s.width; ++k) {
        double x = double{factor.data[i * factor.row + k * factor.column]};
        want += x * double{b[static_cast<size_t>(k * s.width + j)]};
      }
      ASSERT_NEAR(c[at], want, 0x1p-23 * static_cast<double>(s.depth + 1))
          << i << ", " << j << " of " << s.rows << " x " << s.depth << " x " << s.width;
    }
  }
}

// Fewer rows than a tile, whole tiles and a rest; 1 to 5 registers of columns.
TEST(TileProduct, EverySizeOfTile) {
  for (int64_t rows : {1, 2, 3, 4, 5, 6, 7, 13}) {
    for (int64_t width : {16, 32, 48, 64, 80}) {
      for (int64_t depth : {1, 5, 64}) {
        check({rows, depth, width, false, false});
        check({rows, depth, width, true, true});
      }
    }
  }
}

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
}  // namespace spire::testing
