#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/tensor.h>

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

// The compiler's _Float16 is the reference here and below.
TEST(Float16, EqualsTheCompilersTypeForEveryValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float16 half;
    half.bits = static_cast<uint16_t>(bits);
    auto want = static_cast<float>(std::bit_cast<_Float16>(half.bits));
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(float(half))) << bits;
      EXPECT_TRUE(std::isnan(float(float16(float(half))))) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(float(half)), std::bit_cast<uint32_t>(want)) << bits;
      ASSERT_EQ(float16(float(half)).bits, half.bits) << bits;
    }
  }
}

// Tries the middle of any two neighbouring values, and the floats beside it.
TEST(Float16, RoundsAsTheCompilerDoes) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    auto low = static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
    auto high = static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits + 1)));
    float middle = std::isinf(high) ? 65520.0f : low + (high - low) / 2;
    for (float value : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)}) {
      for (float sign : {1.0f, -1.0f}) {
        auto want = std::bit_cast<uint16_t>(static_cast<_Float16>(sign * value));
        ASSERT_EQ(float16(sign * value).bits, want) << sign * value;
      }
    }
  }
  EXPECT_EQ(float16(1e-30f).bits, 0);
  EXPECT_EQ(float16(-1e30f).bits, 0xfc00);
}

TEST(DType, NamesGiveTheirDtypesBack) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i32, DType::u8})
    EXPECT_EQ(dtype_from_name(to_string(dtype)), dtype);
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
