// The rate that a range test suggests, held to ten tasks: a run with it comes within 10 % of the
// best run of a sweep. The rates of runs fall: at a constant one their last weights are noise.
#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <spire/load_config.h>
#include <spire/trainer.h>

#include "engine/base/fail.h"
#include "tools/lr_find/range_test.h"

namespace spire {
namespace {

struct Task {
  const char* name;
  std::vector<std::string> words;
  friend std::ostream& operator<<(std::ostream& out, const Task& task) { return out << task.name; }
};

const std::vector<std::string> features = {"data.synthetic.kind=features",
                                           "data.synthetic.shape=[64]", "data.synthetic.classes=50",
                                           "batch_size=32"};
const std::vector<std::string> images = {"data.synthetic.kind=images",
                                         "data.synthetic.shape=[12,12,1]",
                                         "data.synthetic.classes=10", "batch_size=16"};
const std::vector<std::string> tokens = {"data.synthetic.kind=tokens", "data.synthetic.shape=[16]",
                                         "data.synthetic.classes=16", "batch_size=8"};

std::vector<std::string> with(std::vector<std::string> words, const std::string& optimizer,
                              std::vector<std::string> model) {
  words.insert(words.end(), model.begin(), model.end());
  words.push_back("optimizer.name=" + optimizer);
  return words;
}

std::vector<std::string> layers(const std::string& list) {
  return {"model.layers=[" + list + "]"};
}

const std::string convolutions =
    "conv2d: {channels: 8, padding: same}, relu, max_pool2d: 2, conv2d: {channels: 16, padding: "
    "same}, relu, global_avg_pool, dense: classes";
const std::string normalized =
    "conv2d: {channels: 8, padding: same}, batch_norm, relu, conv2d: {channels: 16, padding: same, "
    "stride: 2}, batch_norm, relu, global_avg_pool, dense: classes";

std::vector<Task> tasks() {
  std::vector<std::string> gpt = {"model.name=gpt", "model.blocks=1", "model.width=32",
                                  "model.heads=2"};
  return {
      {"LinearSgd", with(features, "sgd", {"model.name=linear"})},
      {"MlpMomentum",
       with(features, "sgd", {"model.name=mlp", "model.hidden=[64]", "optimizer.momentum=0.9"})},
      {"MlpAdam", with(features, "adam", {"model.name=mlp", "model.hidden=[64,64]"})},
      {"DeepMlpSgd", with(features, "sgd", {"model.name=mlp", "model.hidden=[64,64,64]"})},
      {"ConvolutionsMomentum",
       with(images, "sgd", {"optimizer.momentum=0.9", "model.layers=[" + convolutions + "]"})},
      {"ConvolutionsAdam", with(images, "adam", layers(convolutions))},
      {"BatchNormAdam", with(images, "adam", layers(normalized))},
      {"LstmAdam",
       with(tokens, "adam",
            layers("embedding: {vocabulary: classes, width: 16}, lstm: 32, dense: classes"))},
      {"GruAdam",
       with(tokens, "adam",
            layers("embedding: {vocabulary: classes, width: 16}, gru: 32, dense: classes"))},
      {"GptAdamw", with(tokens, "adamw", gpt)},
  };
}

RunConfig config_of(const Task& task, double rate) {
  std::vector<std::string> words = {"data.name=synthetic",
                                    "data.synthetic.samples=4000",
                                    "data.synthetic.test_samples=400",
                                    "devices=cpu",
                                    "towers=1",
                                    "tower_threads=1",
                                    "steps=200",
                                    "schedule.name=cosine",
                                    fmt::format("optimizer.lr={:.3e}", rate)};
  words.insert(words.end(), task.words.begin(), task.words.end());
  return parse_config({}, words).config;
}

// The larger the better: accuracy, or the inverse of the perplexity. 0 where the run diverges.
double quality(const Task& task, double rate) {
  try {
    MetricValue metric = Trainer(config_of(task, rate)).fit().metric;
    double value = metric.metric == Metric::perplexity ? 1 / metric.value : metric.value;
    return std::isfinite(value) ? value : 0;
  } catch (const Error& error) {
    if (error.category() != Category::diverged) throw;
    return 0;
  }
}

class RangeTestTasks : public testing::TestWithParam<Task> {};

TEST_P(RangeTestTasks, TheSuggestedRateIsNearTheBest) {
  const Task& task = GetParam();
  RangeTest test = test_range(config_of(task, 0.1), {});
  ASSERT_TRUE(test.suggested());
  double best = 0, rate_of_best = 0;
  for (double rate : {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0}) {
    double reached = quality(task, rate);
    if (reached > best) rate_of_best = rate;
    best = std::max(best, reached);
  }
  double reached = quality(task, *test.suggested());
  RecordProperty("suggested", fmt::format("{:.2g}", *test.suggested()));
  EXPECT_GE(reached, 0.9 * best) << fmt::format(
      "suggested {:.2g}; the best of the sweep is {:.2g}; lowest loss at {:.2g}", *test.suggested(),
      rate_of_best, *test.lowest);
}

INSTANTIATE_TEST_SUITE_P(Ten, RangeTestTasks, testing::ValuesIn(tasks()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace spire
