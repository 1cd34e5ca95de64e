#include "engine/data/images/erase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/dtype.h>

#include "engine/data/images/augment.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::HasSubstr;

TEST(Erase, RectanglesHaveTheDrawnShareAndShape) {
  EraseConfig config = {.probability = 1, .min_share = 0.1, .max_share = 0.3};
  for (int64_t sample = 0; sample < 300; ++sample) {
    Rectangle part = erased_rectangle(config, {100, 80}, 1, 0, sample);
    EXPECT_GE(part.top, 0);
    EXPECT_LE(part.top + part.height, 100);
    EXPECT_GE(part.left, 0);
    EXPECT_LE(part.left + part.width, 80);
    double share = static_cast<double>(part.height * part.width) / 8000;
    EXPECT_GT(share, 0.095);
    EXPECT_LT(share, 0.305);
    double ratio = static_cast<double>(part.height) / static_cast<double>(part.width);
    EXPECT_GT(ratio, 0.28);
    EXPECT_LT(ratio, 3.5);
  }
}

TEST(Erase, HappensWithTheProbability) {
  EraseConfig config = {.probability = 0.25, .min_share = 0.02, .max_share = 0.1};
  int erased = 0;
  for (int64_t sample = 0; sample < 4000; ++sample)
    erased += erased_rectangle(config, {32, 32}, 9, 2, sample).height > 0 ? 1 : 0;
  EXPECT_NEAR(erased, 1000, 100);
  EXPECT_EQ(erased_rectangle({}, {32, 32}, 9, 2, 0).height, 0);
}

// Nothing fits an image of one pixel, and a rectangle that is larger than the image is not taken.
TEST(Erase, GivesUpWhereNothingFits) {
  EraseConfig config = {.probability = 1, .min_share = 1, .max_share = 1};
  EXPECT_EQ(erased_rectangle(config, {1, 1}, 1, 0, 0).height, 0);
  EXPECT_EQ(erased_rectangle(config, {8, 8}, 1, 0, 0).height, 0);
}

// The rectangle is 0 after normalization, everything else is as without erasing.
TEST(Erase, BlanksTheNormalizedImage) {
  Bytes pixels = pattern(10 * 12 * 3, 251);
  AugmentConfig plain;
  plain.flip = true;
  AugmentConfig erasing = plain;
  erasing.erase = {.probability = 1, .min_share = 0.1, .max_share = 0.2};
  const Normalization by = {{0.2, 0.4, 0.9}, {0.5, 0.3, 0.1}};
  ImageWriter without({10, 12, 3}, by, DType::bf16, plain, 4);
  ImageWriter with({10, 12, 3}, by, DType::bf16, erasing, 4);
  std::vector<bfloat16> a(pixels.size()), b(pixels.size());
  for (int64_t sample = 0; sample < 20; ++sample) {
    without.write(pixels.data(), 1, sample, a.data());
    with.write(pixels.data(), 1, sample, b.data());
    Rectangle part = erased_rectangle(erasing.erase, {10, 12}, 4, 1, sample);
    ASSERT_GT(part.height, 0);
    for (int64_t i = 0; i < std::ssize(pixels); ++i) {
      int64_t y = i / 36, x = i / 3 % 12;
      bool inside = y >= part.top && y < part.top + part.height && x >= part.left &&
                    x < part.left + part.width;
      auto at = static_cast<size_t>(i);
      ASSERT_EQ(b[at].bits, inside ? 0 : a[at].bits) << i;
    }
  }
}

}  // namespace
}  // namespace spire
