// Which convolutions Winograd's algorithm computes, and which it is given (docs/numerics.md).
#include "kernels/cpu/winograd.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace spire::testing {
namespace {

const Window padded_3x3{{3, 3}, {1, 1}, {1, 1}};

product::ConvolutionShape shape_of(int64_t h, int64_t w, int64_t c, int64_t o,
                                   const Window& window = padded_3x3) {
  auto slide = [](int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
    return (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  };
  return {2,
          h,
          w,
          c,
          slide(h, window.kernel.h, window.stride.h, window.padding.h, window.dilation.h),
          slide(w, window.kernel.w, window.stride.w, window.padding.w, window.dilation.w),
          o,
          window};
}

TEST(WinogradRules, ComputesWindowsOf3x3WithoutStrideAndDilation) {
  EXPECT_TRUE(winograd::computes(shape_of(9, 8, 16, 48)));
  EXPECT_TRUE(winograd::computes(shape_of(9, 8, 512, 16, {{3, 3}})));
  EXPECT_TRUE(winograd::computes(shape_of(9, 8, 32, 32, {{3, 3}, {1, 1}, {2, 0}})));
  EXPECT_FALSE(winograd::computes(shape_of(9, 8, 32, 32, {{3, 3}, {1, 1}, {3, 1}})));
  EXPECT_FALSE(winograd::computes(shape_of(9, 8, 32, 32, {{3, 3}, {1, 1}, {1, 3}})));
  EXPECT_FALSE(winograd::computes(shape_of(9, 8, 32, 32, {{3, 3}, {2, 1}, {1, 1}})));
  EXPECT_FALSE(winograd::computes(shape_of(9, 8, 32, 32, {{3, 3}, {1, 1}, {1, 1}, {1, 2}})));
  EXPECT_FALSE(winograd::computes(shape_of(9, 8, 32, 32, {{3, 5}, {1, 1}, {1, 1}})));
  EXPECT_FALSE(winograd::computes(shape_of(9, 8, 40, 32)));
  EXPECT_FALSE(winograd::computes(shape_of(9, 8, 32, 40)));
}

TEST(WinogradRules, IsGivenLayersOf32To256ChannelsWithFullTiles) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    bool here = product::fp32_is_fastest(dtype);
    auto given = [&](const product::ConvolutionShape& shape) {
      return winograd::is_faster(shape, dtype);
    };
    EXPECT_EQ(given(shape_of(8, 8, 32, 256)), here);
    EXPECT_EQ(given(shape_of(8, 8, 256, 32)), here);
    EXPECT_FALSE(given(shape_of(8, 8, 16, 64)));
    EXPECT_FALSE(given(shape_of(8, 8, 64, 16)));
    EXPECT_FALSE(given(shape_of(8, 8, 272, 64)));
    EXPECT_FALSE(given(shape_of(8, 8, 64, 272)));
    EXPECT_FALSE(given(shape_of(8, 8, 40, 64)));
    // Tiles compute 4 x 4 pixels for 3 x 4, 4 for 2 and 16 for 9.
    EXPECT_EQ(given(shape_of(3, 4, 64, 64)), here);
    EXPECT_FALSE(given(shape_of(1, 2, 64, 64)));
    EXPECT_FALSE(given(shape_of(3, 3, 64, 64)));
    EXPECT_EQ(given(shape_of(7, 7, 64, 64)), here);
  }
}

}  // namespace
}  // namespace spire::testing
