#include "kernels/ops/resize/resize.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <tests/kernels/op_test.h>

namespace spire::testing {
namespace {

// Row and column positions in x of output position i, with weights, by the formula of the header.
std::vector<std::pair<int64_t, double>> mix(Resize kind, int64_t i, int64_t from, int64_t to) {
  double scale = static_cast<double>(from) / static_cast<double>(to);
  double at = static_cast<double>(i) * scale;
  if (kind == Resize::nearest) return {{static_cast<int64_t>(std::floor(at + 1e-9)), 1.0}};
  at = std::max(0.0, at + scale / 2 - 0.5);
  auto low = std::min(from - 1, static_cast<int64_t>(std::floor(at)));
  double share = at - static_cast<double>(low);
  return {{low, 1 - share}, {std::min(low + 1, from - 1), share}};
}

OpCase resize_case(Resize kind, Shape shape, Extent2d size) {
  OpCase test(
      ResizeOp(ResizeAttributes{kind, size}), {activation(uniform(shape, 21))}, [=](Tensors in) {
        HostTensor y = zeros({shape[0], size.h, size.w, shape[3]});
        for (int64_t e = 0; e < y.size(); ++e) {
          int64_t c = e % shape[3], j = e / shape[3] % size.w, i = e / shape[3] / size.w % size.h;
          int64_t n = e / shape[3] / size.w / size.h;
          for (auto [r, a] : mix(kind, i, shape[1], size.h)) {
            for (auto [s, b] : mix(kind, j, shape[2], size.w))
              y[e] += a * b * in[0][((n * shape[1] + r) * shape[2] + s) * shape[3] + c];
          }
        }
        return y;
      });
  test.magnitude = [=](Tensors in) { return test.reference(absolute(in)); };
  return test;
}

SPIRE_OP_TEST(ResizeTest);

TEST_P(ResizeTest, UpAndDownByWholeAndFractionalFactors) {
  for (Resize kind : {Resize::nearest, Resize::bilinear}) {
    for (Extent2d size : {Extent2d{8, 10}, {4, 5}, {7, 3}, {2, 11}, {1, 1}, {13, 20}}) {
      SCOPED_TRACE(fmt::format("to {}", to_string(size)));
      check_op(resize_case(kind, {2, 4, 5, 3}, size), GetParam());
    }
  }
}

TEST_P(ResizeTest, EveryChannelCount) {
  for (int64_t channels : {1, 16, 17, 40})
    check_op(resize_case(Resize::bilinear, {1, 3, 2, channels}, {6, 4}), GetParam());
}

// Doubling repeats each pixel; halving keeps the first of each pair, or their mean.
TEST_P(ResizeTest, DoublingAndHalvingAreExact) {
  std::vector<Input> row = {activation({{1, 1, 4, 1}, {1, 2, 4, 8}})};
  auto resized = [&](Resize kind, int64_t width) {
    return run_op(ResizeOp({kind, {1, width}}), row, GetParam())[0].data;
  };
  EXPECT_EQ(resized(Resize::nearest, 8), (std::vector<double>{1, 1, 2, 2, 4, 4, 8, 8}));
  EXPECT_EQ(resized(Resize::nearest, 2), (std::vector<double>{1, 4}));
  EXPECT_EQ(resized(Resize::bilinear, 8), (std::vector<double>{1, 1.25, 1.75, 2.5, 3.5, 5, 7, 8}));
  EXPECT_EQ(resized(Resize::bilinear, 2), (std::vector<double>{1.5, 6}));
  EXPECT_EQ(resized(Resize::bilinear, 4), row[0].tensor.data);
}

// Nearest by whole numbers: in floating point 3 * (7 / 21) would fall below 1.
TEST(ResizeTaps, RoundingDoesNotDecideBetweenNeighbours) {
  auto taps = resize_taps(Resize::nearest, 7, 21);
  for (size_t i = 0; i < taps.size(); ++i)
    EXPECT_EQ(taps[i][0].source, static_cast<int64_t>(i / 3));
}

TEST(ResizeTaps, WeightsSumToOneAndTransposeToThemselves) {
  for (auto [from, to] : {std::pair<int64_t, int64_t>{5, 12}, {12, 5}, {1, 4}, {9, 1}}) {
    auto taps = resize_taps(Resize::bilinear, from, to);
    for (const auto& row : taps) {
      float sum = 0;
      for (const ResizeTap& tap : row) sum += tap.weight;
      EXPECT_EQ(sum, 1.0f);
    }
    auto again = transposed(transposed(taps, from), to);
    for (size_t i = 0; i < taps.size(); ++i) {
      ASSERT_EQ(again[i].size(), taps[i].size());
      for (size_t k = 0; k < taps[i].size(); ++k) {
        EXPECT_EQ(again[i][k].source, taps[i][k].source);
        EXPECT_EQ(again[i][k].weight, taps[i][k].weight);
      }
    }
  }
}

// The transposed taps in closed form, as a GPU computes them.
TEST(ResizeTaps, PositionsOfASourceAreContiguous) {
  for (Resize kind : {Resize::nearest, Resize::bilinear}) {
    for (auto [from, to] :
         {std::pair<int64_t, int64_t>{5, 12}, {12, 5}, {7, 21}, {21, 7}, {1, 4}, {9, 1}, {6, 6}}) {
      SCOPED_TRACE(fmt::format("{} to {}", from, to));
      ResizeAxis axis{kind, from, to};
      auto taps = resize_taps(kind, from, to);
      for (int64_t source = 0; source <= from; ++source) {
        auto first = std::find_if(taps.begin(), taps.end(),
                                  [&](auto& position) { return position[0].source >= source; });
        EXPECT_EQ(axis.first_from(source), first - taps.begin()) << "source " << source;
      }
    }
  }
}

TEST(ResizeOp, RefusesEmptySizesAndOtherShapes) {
  TensorSpec x{{1, 4, 4, 2}, DType::f32}, rows{{4, 2}, DType::f32};
  EXPECT_THROW(ResizeOp({Resize::nearest, {0, 4}}).infer(std::vector{x}), Error);
  EXPECT_THROW(ResizeOp({Resize::nearest, {2, 2}}).infer(std::vector{rows}), Error);
}

}  // namespace
}  // namespace spire::testing
