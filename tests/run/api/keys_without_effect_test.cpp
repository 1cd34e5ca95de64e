// Keys of a config that change nothing with the data at hand, and metrics that cannot decide: a
// warning for each.
#include <gmock/gmock.h>

#include "tests/run/api/point_data.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

// 24 samples of three classes, or of the given ones.
struct ClassData {
  PointData points{24};
  std::vector<int32_t> labels;

  explicit ClassData(std::vector<int32_t> classes = {0, 1, 2}) {
    for (size_t i = 0; i < 24; ++i) labels.push_back(classes[i % classes.size()]);
  }
  DataSource source() const {
    return array_source(
        {array("features", points.features.data(), {24, 3}), array("labels", labels.data(), {24})},
        {}, {.classes = 3});
  }
};

TEST(KeysWithoutEffect, LabelSmoothingOnValues) {
  RunConfig config = point_config();
  PointData data(24);
  EXPECT_THAT(warnings_of(config, data.source(), "loss."), ElementsAre());
  config.loss.label_smoothing = 0.1;
  EXPECT_THAT(warnings_of(config, data.source(), "loss."),
              ElementsAre("loss.label_smoothing: has no effect, as the data has values and no "
                          "classes"));
  EXPECT_THAT(warnings_of(config, ClassData().source(), "loss."), ElementsAre());
}

TEST(KeysWithoutEffect, ClassWeightsThatAreAllZero) {
  RunConfig config = point_config();
  config.loss.class_weights = {0, 0, 0};
  EXPECT_THAT(warnings_of(config, ClassData().source(), "loss."),
              ElementsAre(StartsWith("loss.class_weights: all are 0, so no sample counts")));
  config.loss.class_weights = {0, 0, 1};
  EXPECT_THAT(warnings_of(config, ClassData().source(), "loss."), ElementsAre());
}

TEST(KeysWithoutEffect, ARateForBatchesBeyondTheData) {
  RunConfig config = point_config();
  config.lr.scaling = LrConfig::Scaling::linear;
  config.lr.base_batch = 64;
  PointData data(24);
  EXPECT_THAT(warnings_of(config, data.source(), "lr."), ElementsAre());
  config.batch_size = 16;  // on two towers
  EXPECT_THAT(warnings_of(config, data.source(), "lr."),
              ElementsAre(StartsWith("lr.scaling: the learning rate is that of batches of 32, but "
                                     "the data has 24 samples")));
}

TEST(KeysWithoutEffect, MetricsThatAreAlwaysOne) {
  RunConfig config = point_config();
  config.best.metric = "top5";
  config.eval.metrics = {"top3"};
  EXPECT_THAT(warnings_of(config, ClassData().source(), "best."),
              ElementsAre("best.metric: top5 of 3 classes is always 1, so the first evaluation "
                          "stays the best; use another metric"));
  EXPECT_THAT(warnings_of(config, ClassData().source(), "eval."),
              ElementsAre("eval.metrics: top3 of 3 classes is always 1"));
}

TEST(KeysWithoutEffect, AnUndefinedMetricIsNeverTheBest) {
  RunConfig config = point_config();
  config.best.metric = "auc";
  ClassData one_class({1}), all;
  EXPECT_THAT(warnings_of(config, all.source(), "best."), ElementsAre());
  EXPECT_THAT(warnings_of(config, one_class.source(), "best."),
              ElementsAre(StartsWith("best.metric: auc is undefined on the test data at step 3, so "
                                     "this evaluation is not the best")));
}

}  // namespace
}  // namespace spire
