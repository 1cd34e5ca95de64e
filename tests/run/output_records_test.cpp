// Metrics of outputs. Figures of scikit-learn 1.9.1, which record_output_metrics.py beside this
// file prints.
#include "engine/run/metrics/output_records.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "engine/observe/scores.h"

namespace spire {
namespace {

constexpr int64_t samples = 83, classes = 7, values = 3;
constexpr double tolerance = 1e-12;

float logit_of(int64_t i, int64_t c) {
  return static_cast<float>((i * i + 5 * i * c + 3 * c * c) % 17) / 4;
}

std::vector<float> logits_of(int64_t i) {
  std::vector<float> row;
  for (int64_t c = 0; c < classes; ++c) row.push_back(logit_of(i, c));
  return row;
}

int32_t label_of(int64_t i) {
  std::vector<float> row = logits_of(i);
  auto largest = std::max_element(row.begin(), row.end()) - row.begin();
  return static_cast<int32_t>(i % 3 != 0 ? largest : 7 * i % classes);
}

SampleSpec spec_of(const Column& target, int64_t count = 0) {
  return {.columns = {{"features", {4}, DType::f32}, target}, .classes = count};
}

template <typename T>
void record(const OutputRecords& records, const std::vector<float>& output,
            const std::vector<T>& target, std::vector<double>& rows) {
  rows.resize(rows.size() + records.width());
  records.record(output, reinterpret_cast<const std::byte*>(target.data()),
                 std::span(rows).last(records.width()));
}

TEST(OutputRecords, OfClassesAreThoseOfScikitLearn) {
  SampleSpec spec = spec_of({"labels", {}, DType::i32}, classes);
  auto records = make_records(Task::classify, false, spec, true, false);
  std::vector<double> rows;
  for (int64_t i = 0; i < samples; ++i)
    record(*records, logits_of(i), std::vector{label_of(i)}, rows);
  auto value = [&](Metric metric) { return records->value(metric, rows, 0); };
  EXPECT_NEAR(value(Metric::top3), 0.8554216867469879, tolerance);
  EXPECT_NEAR(value(Metric::top5), 0.927710843373494, tolerance);
  EXPECT_NEAR(value(Metric::f1_macro), 0.7940964264493677, tolerance);
  EXPECT_NEAR(value(Metric::f1_micro), 0.7590361445783133, tolerance);
  EXPECT_NEAR(value(Metric::auc), 0.92612459399178, tolerance);
}

TEST(OutputRecords, OfValuesAreThoseOfScikitLearn) {
  auto records =
      make_records(Task::regress, false, spec_of({"values", {values}, DType::f32}), false, false);
  std::vector<double> rows;
  for (int64_t i = 0; i < samples; ++i) {
    std::vector<float> targets, outputs;
    for (int64_t v = 0; v < values; ++v) {
      targets.push_back(static_cast<float>(i * (v + 3) % 11) / 2);
      outputs.push_back(targets.back() + static_cast<float>((i + v) % 5 - 2) / 4);
    }
    record(*records, outputs, targets, rows);
  }
  EXPECT_NEAR(records->value(Metric::r2, rows, 0), 0.9510007504394254, tolerance);
  EXPECT_NEAR(records->value(Metric::mae, rows, 0), 0.2971887550200803, tolerance);
}

TEST(OutputRecords, OfLabelsAreThoseOfScikitLearn) {
  auto records =
      make_records(Task::regress, true, spec_of({"values", {values + 1}, DType::f32}), true, false);
  std::vector<double> rows;
  for (int64_t i = 0; i < samples; ++i) {
    std::vector<float> there, outputs;
    for (int64_t v = 0; v < values; ++v) {
      there.push_back(i * (v + 2) % 5 < 2 ? 1.0f : 0.0f);
      outputs.push_back(static_cast<float>((i * 7 + v * 3) % 13 - 6) / 2 + there.back());
    }
    there.push_back(0);  // a label that no sample has: it has an F1 of 0, and no AUC
    outputs.push_back(-1);
    record(*records, outputs, there, rows);
  }
  EXPECT_NEAR(records->value(Metric::f1_macro, rows, 0), 0.38644907723855093, tolerance);
  EXPECT_NEAR(records->value(Metric::f1_micro, rows, 0), 0.5152838427947598, tolerance);
  EXPECT_NEAR(records->value(Metric::auc, rows, 0), 0.6241360786738938, tolerance);
}

TEST(OutputRecords, OfTwoClassesTakeTheSecondAsPositive) {
  std::vector<double> scores;
  std::vector<bool> positive;
  for (int64_t i = 0; i < samples; ++i) {
    scores.push_back(logit_of(i, 1));
    positive.push_back(label_of(i) % 2 == 1);
  }
  EXPECT_NEAR(auc(scores, positive), 0.5855072463768116, tolerance);
  auto records =
      make_records(Task::classify, false, spec_of({"labels", {}, DType::i32}, 2), true, false);
  std::vector<double> rows;
  for (int64_t i = 0; i < samples; ++i)
    record(*records, {0, logit_of(i, 1)}, std::vector{label_of(i) % 2}, rows);
  EXPECT_NEAR(records->value(Metric::auc, rows, 0), 0.5855072463768116, tolerance);
}

TEST(OutputRecords, CountEachPairOfClasses) {
  auto records =
      make_records(Task::classify, false, spec_of({"labels", {}, DType::i32}, 2), false, false);
  std::vector<double> rows;
  for (auto [label, first] : {std::pair(0, 1.0f), {0, -1.0f}, {1, -1.0f}, {1, -2.0f}})
    record(*records, {first, 0}, std::vector{label}, rows);
  EXPECT_EQ(records->confusion(rows), (ConfusionCounts{1, 1, 0, 2}));
}

// Pixels 0, 1, 1 and one without a class; found are 0, 1, 2 and 2.
TEST(OutputRecords, OfMasksCountPixels) {
  SampleSpec spec{.columns = {{"images", {2, 2, 1}}, {"masks", {2, 2}, DType::i32}}, .classes = 3};
  auto records = make_records(Task::segment, false, spec, false, false);
  std::vector<double> rows;
  record(*records, {9, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 9}, std::vector<int32_t>{0, 1, 1, -1}, rows);
  EXPECT_DOUBLE_EQ(records->value(Metric::mean_iou, rows, 0), (1 + 0.5 + 0) / 3);
  EXPECT_DOUBLE_EQ(records->value(Metric::dice, rows, 0), (1 + 2.0 / 3 + 0) / 3);
  EXPECT_DOUBLE_EQ(records->value(Metric::pixel_accuracy, rows, 0), 2.0 / 3);
}

TEST(OutputRecords, OfImagesCompareWithTheTarget) {
  SampleSpec spec{.columns = {{"images", {12, 12, 1}}, {"target_images", {12, 12, 1}}}};
  auto records = make_records(Task::reconstruct, false, spec, false, true);
  std::vector<double> rows;
  record(*records, std::vector<float>(144, 0.5f), std::vector<float>(144, 0.25f), rows);
  EXPECT_DOUBLE_EQ(records->value(Metric::mae, rows, 0), 0.25);
  // Constant images differ in luminance alone.
  EXPECT_NEAR(records->value(Metric::ssim, rows, 0), (2 * 0.125 + 1e-4) / (0.3125 + 1e-4), 1e-9);
  EXPECT_EQ(make_records(Task::reconstruct, false, spec, false, false)->width(), 1u);
  spec.columns[1].shape = Shape({12, 10, 1});
  EXPECT_EQ(make_records(Task::reconstruct, false, spec, false, true)->metrics().size(), 1u);
}

// One byte a token, so the loss in bits is that of a byte.
TEST(OutputRecords, OfTokensCountTheBytesOfTheirText) {
  SampleSpec spec = spec_of({"targets", {4}, DType::i32}, 256);
  spec.vocabulary = "bytes";
  auto records = make_records(Task::predict_tokens, false, spec, false, false);
  std::vector<double> rows;
  record(*records, {}, std::vector<int32_t>{1, 2, 3, 255}, rows);
  EXPECT_DOUBLE_EQ(records->value(Metric::bits_per_byte, rows, 1.5), 1.5 / std::log(2));
  spec.vocabulary = "";
  EXPECT_TRUE(make_records(Task::predict_tokens, false, spec, false, false)->metrics().empty());
}

TEST(OutputMetrics, OfOutputsThatAreNoNumbers) {
  float nan = std::nanf("");
  EXPECT_EQ(rank_of(std::vector{nan, 1.0f, 2.0f}, 0), 2);
  EXPECT_EQ(rank_of(std::vector{1.0f, 1.0f, 2.0f}, 1), 2);
  EXPECT_EQ(rank_of(std::vector{1.0f, 2.0f}, 7), 1);
  EXPECT_TRUE(std::isnan(auc(std::vector{std::nan(""), 1.0}, {true, false})));
  EXPECT_TRUE(std::isnan(auc(std::vector{0.0, 1.0}, {true, true})));
}

TEST(OutputMetrics, R2OfEqualTargets) {
  EXPECT_EQ(r2(std::vector{2.0, 2.0}, std::vector{2.0, 2.0}, 1), 1);
  EXPECT_EQ(r2(std::vector{2.0, 2.0}, std::vector{2.0, 3.0}, 1), 0);
}

}  // namespace
}  // namespace spire
