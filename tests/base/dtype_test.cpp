#include <gtest/gtest.h>
#include <spire/base/dtype.h>
#include <spire/base/error.h>
#include <spire/base/shape.h>

#include <cmath>
#include <limits>

namespace spire {
namespace {

TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(float(bfloat16(1.0f)), 1.0f);
  EXPECT_EQ(float(bfloat16(1.0f + 0x1p-8f)), 1.0f);                // tie, even below
  EXPECT_EQ(float(bfloat16(1.0f + 3 * 0x1p-8f)), 1.0f + 0x1p-6f);  // tie, even above
  EXPECT_EQ(float(bfloat16(1.0f + 0x1p-8f + 0x1p-20f)), 1.0f + 0x1p-7f);
  EXPECT_TRUE(std::isnan(float(bfloat16(std::nanf("")))));
  EXPECT_TRUE(std::isinf(float(bfloat16(std::numeric_limits<float>::max()))));
}

TEST(DType, NamesGoBothWays) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i32, DType::u8})
    EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
  EXPECT_THROW(dtype_from_name("float"), Error);
}

TEST(Shape, CountsAndPrints) {
  EXPECT_EQ(Shape({2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(to_string(Shape({2, 3})), "(2, 3)");
  EXPECT_THROW(Shape({1, 1, 1, 1, 1, 1, 1}), Error);
}

}  // namespace
}  // namespace spire
