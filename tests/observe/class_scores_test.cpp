#include "engine/observe/class_scores.h"

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

}  // namespace
}  // namespace spire
