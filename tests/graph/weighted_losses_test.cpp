// Losses of weighted classes, of several labels and of numbers with outliers: their values and
// their gradients, against the formulas in float64 and their central differences.
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <spire/layers.h>

#include "tests/graph/run_graph.h"

namespace spire {
namespace {

constexpr size_t samples = 5, width = 4;
using Row = std::vector<double>;  // of logits or predictions
// The loss of sample n.
using Reference = std::function<double(size_t n, const Row& row)>;

const std::vector<int32_t> labels = {2, 0, 3, 3, 1};

// Samples that are right and wrong, sure and unsure; the last has logits of 0.
float output_of(size_t n, size_t k) {
  if (n + 1 == samples) return 0;
  return 3 * std::sin(static_cast<float>(5 * n + 3 * k * k + n * k));
}

float target_of(size_t n, size_t k) {
  return 2 * std::cos(static_cast<float>(n * n + 2 * k));
}

// 0 or 1, and for one sample what its outputs say.
float label_of(size_t n, size_t k) {
  if (n == 1) return output_of(n, k) > 0 ? 1.0f : 0.0f;
  return (n + k) % 3 == 0 ? 1.0f : 0.0f;
}

Row row_of(size_t n) {
  Row row;
  for (size_t k = 0; k < width; ++k) row.push_back(output_of(n, k));
  return row;
}

std::vector<float> numbers_of(float (*number)(size_t n, size_t k)) {
  std::vector<float> all;
  for (size_t n = 0; n < samples; ++n)
    for (size_t k = 0; k < width; ++k) all.push_back(number(n, k));
  return all;
}

using AddLoss = std::function<void(Graph& graph, Value outputs, Value target)>;

// Runs a graph whose one parameter is the outputs, so that their gradient is what it computes.
GraphRun run_outputs(Graph graph, const std::vector<const void*>& inputs) {
  RunChoices choices;
  choices.fill = [](const ParameterEntry&, std::span<float> outputs) {
    std::ranges::copy(numbers_of(output_of), outputs.begin());
  };
  return run_graph(std::move(graph), inputs, samples, choices);
}

Value outputs_of(Graph& graph) {
  return graph.parameter("outputs", {samples, width}, init::constant(0));
}

GraphRun run_loss(const TensorSpec& target, const void* values, const AddLoss& add_loss) {
  Graph graph(true);
  Value given = graph.input("target", target);
  add_loss(graph, outputs_of(graph), given);
  return run_outputs(std::move(graph), {values});
}

void expect_loss(const GraphRun& run, const Reference& reference) {
  double sum = 0;
  constexpr double step = 1e-6;
  const std::vector<float>& gradient = run.gradients.at("outputs");
  for (size_t n = 0; n < samples; ++n) {
    Row row = row_of(n);
    sum += reference(n, row);
    for (size_t k = 0; k < width; ++k) {
      Row above = row, below = row;
      above[k] += step;
      below[k] -= step;
      double slope = (reference(n, above) - reference(n, below)) / (2 * step);
      EXPECT_NEAR(gradient[n * width + k], slope / samples, 2e-6) << n << ' ' << k;
    }
  }
  EXPECT_NEAR(run.loss, sum, 1e-5);
}

double log_probability(const Row& row, size_t k) {
  double sum = 0;
  for (double x : row) sum += std::exp(x - row[k]);
  return -std::log(sum);
}

GraphRun run_focal(const FocalOptions& options) {
  return run_loss({{samples}, DType::i32}, labels.data(),
                  [&](Graph& graph, Value logits, Value target) {
                    focal_loss(graph, logits, target, options);
                  });
}

double focal(const FocalOptions& options, int32_t of, const Row& row) {
  auto label = static_cast<size_t>(of);
  double loss = 0, spread = options.label_smoothing;
  for (size_t k = 0; k < width; ++k)
    loss -= ((k == label ? 1 - spread : 0) + spread / width) * log_probability(row, k);
  double rest = 1 - std::exp(log_probability(row, label));
  double weight = options.class_weights.empty() ? 1 : options.class_weights[label];
  double log_z = row[label] - log_probability(row, label);
  return weight * (std::pow(rest, options.gamma) * loss + options.z_loss * log_z * log_z);
}

TEST(WeightedLosses, FollowTheirFormulas) {
  for (const FocalOptions& options :
       {FocalOptions{}, FocalOptions{.class_weights = {0.5f, 2, 0, 3}},
        FocalOptions{.label_smoothing = 0.2f, .class_weights = {0.5f, 2, 1, 3}},
        FocalOptions{.gamma = 2}, FocalOptions{.gamma = 0.5f, .class_weights = {0.5f, 2, 1, 3}},
        FocalOptions{.gamma = 2, .z_loss = 0.25f},
        FocalOptions{.class_weights = {0.5f, 2, 1, 3}, .z_loss = 0.125f}})
    expect_loss(run_focal(options),
                [&](size_t n, const Row& row) { return focal(options, labels[n], row); });
}

// mixup and cutmix: each label counts by its share, with its own weight and probability.
TEST(WeightedLosses, OfMixedSamplesAreMeansOfTheirLabels) {
  constexpr std::array<int32_t, samples> others = {1, 0, 2, 0, 3};
  constexpr std::array<float, samples> mix = {0.75f, 0.5f, 1, 0.25f, 0};
  FocalOptions options{.gamma = 2, .label_smoothing = 0.1f, .class_weights = {0.5f, 2, 1, 3}};
  for (float z_loss : {0.0f, 0.125f}) {
    options.z_loss = z_loss;
    Graph graph(true);
    Value first = graph.input("labels", {{samples}, DType::i32});
    FocalOptions mixed = options;
    mixed.other_labels = graph.input("other_labels", {{samples}, DType::i32});
    mixed.mix = graph.input("mix", {{samples}, DType::f32});
    focal_loss(graph, outputs_of(graph), first, mixed);
    GraphRun run = run_outputs(std::move(graph), {labels.data(), others.data(), mix.data()});
    expect_loss(run, [&](size_t n, const Row& row) {
      double share = mix[n];
      return share * focal(options, labels[n], row) + (1 - share) * focal(options, others[n], row);
    });
  }
}

// Where the probability of the label is rounded to 1 there is nothing left to learn.
TEST(WeightedLosses, OfASureSampleIsZeroWithAGradient) {
  Graph graph(true);
  Value label = graph.input("labels", {{1}, DType::i32});
  focal_loss(graph, graph.parameter("outputs", {1, 2}, init::constant(0)), label, {.gamma = 0.5f});
  RunChoices choices;
  choices.fill = [](const ParameterEntry&, std::span<float> outputs) {
    outputs[0] = 80;
    outputs[1] = -80;
  };
  int32_t first = 0;
  GraphRun run = run_graph(std::move(graph), {&first}, 1, choices);
  EXPECT_NEAR(run.loss, 0, 1e-12);
  for (float each : run.gradients.at("outputs")) EXPECT_NEAR(each, 0, 1e-6);
}

TEST(WeightedLosses, CountRightClasses) {
  double right = 0;
  for (size_t n = 0; n < samples; ++n) {
    Row row = row_of(n);
    right += std::ranges::max_element(row) - row.begin() == labels[n] ? 1 : 0;
  }
  EXPECT_EQ(run_focal({.gamma = 2}).score, right);
}

TEST(BinaryLoss, FollowsItsFormula) {
  std::vector<float> values = numbers_of(label_of);
  GraphRun run = run_loss({{samples, width}, DType::f32}, values.data(), binary_loss);
  expect_loss(run, [](size_t n, const Row& row) {
    double sum = 0;
    for (size_t k = 0; k < width; ++k)
      sum += std::log1p(std::exp(row[k])) - label_of(n, k) * row[k];
    return sum / width;
  });
  double matches = 0;
  for (size_t n = 0; n < samples; ++n) {
    bool match = true;
    for (size_t k = 0; k < width; ++k)
      match = match && (output_of(n, k) > 0) == (label_of(n, k) > 0.5f);
    matches += match ? 1 : 0;
  }
  EXPECT_GE(matches, 1);
  EXPECT_EQ(run.score, matches);
}

// A prediction that is no number has a loss that is none, so that training notices.
TEST(HuberLoss, OfNaNIsNaN) {
  std::vector<float> values = numbers_of(target_of);
  values[3] = std::numeric_limits<float>::quiet_NaN();
  GraphRun run = run_loss({{samples, width}, DType::f32}, values.data(),
                          [](Graph& graph, Value prediction, Value target) {
                            huber_loss(graph, prediction, target, 1);
                          });
  EXPECT_TRUE(std::isnan(run.loss));
  EXPECT_TRUE(std::isnan(run.gradients.at("outputs")[3]));
}

TEST(HuberLoss, FollowsItsFormula) {
  std::vector<float> values = numbers_of(target_of);
  for (float delta : {0.5f, 1.0f, 4.0f}) {
    GraphRun run = run_loss({{samples, width}, DType::f32}, values.data(),
                            [delta](Graph& graph, Value prediction, Value target) {
                              huber_loss(graph, prediction, target, delta);
                            });
    expect_loss(run, [delta](size_t n, const Row& row) {
      double sum = 0;
      for (size_t k = 0; k < width; ++k) {
        double d = std::abs(row[k] - double{target_of(n, k)});
        sum += d <= delta ? d * d / 2 : delta * (d - delta / 2.0);
      }
      return sum / width;
    });
  }
}

}  // namespace
}  // namespace spire
