// The loss of samples, also of mixed ones, that have labels and a teacher: its value and gradient
// against the formula in float64.
#include <array>
#include <cmath>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include <spire/layers.h>

#include "models/teacher.h"
#include "tests/graph/run_graph.h"

namespace spire {
namespace {

constexpr size_t samples = 3, inputs = 2, classes = 4;
constexpr double smoothing = 0.1, z_loss = 0.05, temperature = 2.5, share = 0.3;
using Row = std::array<double, classes>;

const std::vector<float> features = {0.5f, -1.0f, 2.0f, 0.25f, -0.75f, 1.5f};
const std::vector<int32_t> labels = {2, 0, 3}, other_labels = {1, 0, 2};
const std::vector<float> mix = {0.75f, 0.4f, 1.0f};

// "teacher" or "student": weights are (classes, inputs).
float weight_of(bool teacher, size_t at) {
  return std::sin(static_cast<float>(3 * at * at + at) + (teacher ? 2.0f : 0.5f));
}

Row logits_of(bool teacher, size_t n) {
  Row row{};
  for (size_t c = 0; c < classes; ++c)
    for (size_t i = 0; i < inputs; ++i)
      row[c] += double{features[n * inputs + i]} * double{weight_of(teacher, c * inputs + i)};
  return row;
}

double log_of_sum(const Row& logits, double by) {
  double sum = 0;
  for (double x : logits) sum += std::exp(x / by);
  return std::log(sum);
}

// (1 - W) (sum_c target_c (lse - x_c) + z lse^2) + W T^2 sum_c q_c (ln q_c - ln p_c)
double loss_of(const Row& x, const Row& taught, const Row& target) {
  double lse = log_of_sum(x, 1), loss = (1 - share) * z_loss * lse * lse;
  double soft = log_of_sum(x, temperature), soft_taught = log_of_sum(taught, temperature);
  for (size_t c = 0; c < classes; ++c) {
    double ln_q = taught[c] / temperature - soft_taught, ln_p = x[c] / temperature - soft;
    loss += (1 - share) * target[c] * (lse - x[c]);
    loss += share * temperature * temperature * std::exp(ln_q) * (ln_q - ln_p);
  }
  return loss;
}

Row target_of(size_t n, bool mixed) {
  Row target{};
  for (double& each : target) each = smoothing / classes;
  double first = mixed ? double{mix[n]} : 1;
  target[static_cast<size_t>(labels[n])] += (1 - smoothing) * first;
  target[static_cast<size_t>(other_labels[n])] += (1 - smoothing) * (1 - first);
  return target;
}

Graph taught_graph(bool mixed) {
  auto teacher = std::make_shared<Teacher>();
  teacher->model = {.name = "linear"};
  teacher->config = {.temperature = temperature, .weight = share};
  teacher->values = [](const std::string&, const Shape&) { return init::constant(0); };
  std::vector<Column> columns = {{"features", {int64_t{inputs}}, DType::f32},
                                 {"labels", {}, DType::i32}};
  if (mixed) {
    columns.push_back({"other_labels", {}, DType::i32});
    columns.push_back({"mix", {}, DType::f32});
  }
  return build_model(
      {.name = "linear"}, {.label_smoothing = smoothing, .z_loss = z_loss},
      {.columns = columns, .classes = classes, .batch = samples, .teacher = teacher.get()}, true);
}

class TaughtLoss : public testing::TestWithParam<bool> {};

TEST_P(TaughtLoss, IsTheFormulasAndSoIsItsGradient) {
  bool mixed = GetParam();
  std::vector<const void*> columns = {features.data(), labels.data()};
  if (mixed) columns.insert(columns.end(), {other_labels.data(), mix.data()});
  RunChoices choices;
  choices.fill = [](const ParameterEntry& entry, std::span<float> values) {
    bool weight = entry.name.ends_with("weight");
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = weight ? weight_of(entry.teacher, i) : 0.0f;
  };
  GraphRun run = run_graph(taught_graph(mixed), columns, samples, choices);
  double loss = 0;
  Row bias{};  // the mean gradient of the logits
  for (size_t n = 0; n < samples; ++n) {
    Row x = logits_of(false, n), taught = logits_of(true, n), target = target_of(n, mixed);
    loss += loss_of(x, taught, target);
    for (size_t c = 0; c < classes; ++c) {
      Row above = x, below = x;
      above[c] += 1e-5, below[c] -= 1e-5;
      double slope = (loss_of(above, taught, target) - loss_of(below, taught, target)) / 2e-5;
      bias[c] += slope / samples;
    }
  }
  EXPECT_NEAR(run.loss, loss, 1e-6 * loss);
  for (size_t c = 0; c < classes; ++c)
    EXPECT_NEAR(run.gradients.at("dense.bias")[c], bias[c], 1e-6) << c;
}

INSTANTIATE_TEST_SUITE_P(Samples, TaughtLoss, testing::Bool(),
                         [](const auto& test) { return test.param ? "mixed" : "plain"; });

}  // namespace
}  // namespace spire
