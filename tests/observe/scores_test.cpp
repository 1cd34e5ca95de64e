#include "engine/observe/scores.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <spire/error.h>

namespace spire {
namespace {

// Figures of scikit-learn 1.9.1, which record_class_scores.py beside this file prints. Class 2 is
// found but never true; class 5 is neither, and scikit-learn leaves it out.
TEST(ClassScores, AreThoseOfScikitLearn) {
  const std::vector<int64_t> counts = {26, 3, 4, 2,  0, 0, 3, 28, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0,
                                       2,  0, 2, 14, 0, 0, 0, 1,  1, 1, 5, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<double> precision = {0.8387096774193549, 0.875, 0.0, 0.7, 1.0};
  const std::vector<double> recall = {0.7428571428571429, 0.7777777777777778, 0.0,
                                      0.7777777777777778, 0.625};
  const std::vector<double> f1 = {0.7878787878787878, 0.8235294117647058, 0.0, 0.7368421052631579,
                                  0.7692307692307693};
  std::vector<ClassScore> scores = class_scores(counts, 6);
  ASSERT_EQ(scores.size(), 6u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(scores[i].precision().value(), precision[i], 1e-12) << i;
    EXPECT_NEAR(scores[i].recall().value_or(0), recall[i], 1e-12) << i;
    EXPECT_NEAR(scores[i].f1().value(), f1[i], 1e-12) << i;
  }
  EXPECT_FALSE(scores[2].recall());
  EXPECT_FALSE(scores[5].precision() || scores[5].recall() || scores[5].f1());
  EXPECT_NEAR(f1_macro(scores).value(), 0.6234962148274842, 1e-12);
}

// Beyond 2^32, where neither 32 bits nor fp32 would do.
TEST(ClassScores, CountIn64Bits) {
  const int64_t many = int64_t{1} << 40;
  std::vector<ClassScore> scores = class_scores(std::vector<int64_t>{many + 1, many - 1, 0, 2}, 2);
  EXPECT_EQ(scores[0].actual, 2 * many);
  EXPECT_EQ(scores[1].predicted, many + 1);
  EXPECT_EQ(scores[0].recall(), 0.5 + 0x1p-41);
}

TEST(ClassScores, NeedSamplesAndASquareOfCounts) {
  EXPECT_FALSE(f1_macro(class_scores(std::vector<int64_t>(4), 2)));
  EXPECT_THROW(class_scores(std::vector<int64_t>{1, 2}, 1), Error);
}

std::vector<float> image(int64_t height, int64_t width, int64_t channels, int64_t step) {
  std::vector<float> values;
  for (int64_t i = 0; i < height * width * channels; ++i)
    values.push_back(static_cast<float>((i * 37 + step * (i * i % 29)) % 256) / 256);
  return values;
}

double similarity(int64_t height, int64_t width, int64_t channels, int64_t step) {
  return ssim(image(height, width, channels, 0), image(height, width, channels, step), height,
              width, channels);
}

TEST(Ssim, IsThatOfScikitImage) {
  EXPECT_NEAR(similarity(11, 11, 1, 1), 0.6688370649897879, 1e-9);
  EXPECT_NEAR(similarity(11, 11, 1, 3), 0.10616729114319168, 1e-9);
  EXPECT_NEAR(similarity(16, 13, 1, 1), 0.7406528855636152, 1e-9);
  EXPECT_NEAR(similarity(16, 13, 1, 3), 0.3219995456355996, 1e-9);
  EXPECT_NEAR(similarity(12, 20, 3, 1), 0.7410408494501736, 1e-9);
  EXPECT_NEAR(similarity(12, 20, 3, 3), 0.23188009850100955, 1e-9);
}

TEST(Ssim, OfAnImageWithItselfIsOne) {
  EXPECT_NEAR(similarity(14, 17, 2, 0), 1, 1e-12);
}

TEST(Ssim, NeedsAWholeWindow) {
  EXPECT_TRUE(std::isnan(similarity(10, 30, 1, 1)));
  EXPECT_TRUE(std::isnan(similarity(30, 10, 1, 1)));
}

// Pixels 3, 14, 25, .. have no class.
std::vector<ClassScore> counts_of_masks() {
  std::vector<int32_t> mask;
  std::vector<float> logits;
  for (int i = 0; i < 200; ++i) {
    mask.push_back(i % 11 == 3 ? -1 : i * i % 5);
    int found = (i * i + (i % 7 == 0 ? 1 : 0)) % 5;
    for (int c = 0; c < 6; ++c)
      logits.push_back(c == found ? 0.5f : -0.25f * static_cast<float>(c));
  }
  std::vector<ClassScore> counts(6);  // class 5 does not occur
  count_pixels(mask, logits, counts);
  return counts;
}

TEST(MaskScores, AreThoseOfScikitLearn) {
  std::vector<ClassScore> counts = counts_of_masks();
  EXPECT_NEAR(mean_iou(counts).value(), 0.5781639915259987, 1e-12);
  EXPECT_NEAR(f1_macro(counts).value(), 0.650817054026948, 1e-12);
  EXPECT_NEAR(pixel_accuracy(counts).value(), 0.8571428571428571, 1e-12);
}

TEST(MaskScores, TheFirstOfEqualLogitsIsFound) {
  std::vector<ClassScore> counts(3);
  count_pixels(std::vector<int32_t>{1, 0}, std::vector<float>{1, 2, 2, 0, 0, 0}, counts);
  EXPECT_EQ(counts[1].tp, 1);
  EXPECT_EQ(counts[0].tp, 1);
  EXPECT_EQ(counts[2].predicted, 0);
  EXPECT_EQ(mean_iou(counts), 1);
}

TEST(MaskScores, NoPixelWithAClassGivesNoScore) {
  std::vector<ClassScore> counts(3);
  count_pixels(std::vector<int32_t>{-1}, std::vector<float>{1, 2, 2}, counts);
  EXPECT_FALSE(mean_iou(counts));
  EXPECT_FALSE(pixel_accuracy(counts));
}

}  // namespace
}  // namespace spire
