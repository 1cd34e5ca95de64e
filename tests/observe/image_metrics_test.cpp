// Metrics of images and masks equal those of scikit-image 0.26 and scikit-learn 1.9, recorded by
// record_image_metrics.py.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "engine/observe/image_similarity.h"
#include "engine/observe/mask_scores.h"

namespace spire {
namespace {

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
