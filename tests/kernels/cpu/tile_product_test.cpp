#include "kernels/cpu/tile_product.h"

#include <cmath>

#include <tests/kernels/op_test.h>

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

}  // namespace
}  // namespace spire::testing
