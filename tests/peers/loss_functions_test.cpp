// Losses and their gradients equal PyTorch's, on each kind of device. pytorch_loss_functions.json
// holds PyTorch's figures, in float64; record_loss_functions.py beside it made them.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <spire/layers.h>

#include "tests/graph/run_graph.h"
#include "tests/train/device_kinds.h"

namespace spire {
namespace {

using Json = nlohmann::json;

const Json& figures() {
  static const Json json = Json::parse(std::ifstream(SPIRE_PEER_LOSS_FUNCTIONS));
  return json;
}

template <typename T>
std::vector<T> flat(const char* key) {
  std::vector<T> all;
  for (const Json& row : figures()[key]) {
    if (row.is_array()) {
      for (const Json& value : row) all.push_back(value);
    } else {
      all.push_back(row);
    }
  }
  return all;
}

struct LossInputs {
  Value outputs, labels, values, bits, teacher;
};
struct LossCase {
  const char* name;
  std::function<void(Graph& graph, const LossInputs& in)> add;
};

std::vector<float> class_weights() {
  return flat<float>("class_weights");
}

// The logits (x, 0) of two classes for the first output x of a sample: the label 0 is PyTorch's 1.
void two_classes(Graph& graph, const LossInputs& in) {
  Value x = slice(graph, in.outputs, 1, 0, 1);
  Value pair = concat(graph, {x, scale(graph, x, 0)}, 1);
  focal_loss(graph, pair, in.labels, {.gamma = 2, .class_weights = {0.25f, 0.75f}});
}

std::vector<LossCase> cases() {
  return {
      {"cross_entropy",
       [](Graph& g, const LossInputs& in) { cross_entropy_loss(g, in.outputs, in.labels, {}); }},
      {"label_smoothing",
       [](Graph& g, const LossInputs& in) {
         cross_entropy_loss(g, in.outputs, in.labels, {.label_smoothing = 0.125f});
       }},
      {"class_weights",
       [](Graph& g, const LossInputs& in) {
         focal_loss(g, in.outputs, in.labels, {.class_weights = class_weights()});
       }},
      {"z_loss",
       [](Graph& g, const LossInputs& in) {
         cross_entropy_loss(g, in.outputs, in.labels, {.z_loss = 0.25f});
       }},
      {"focal",
       [](Graph& g, const LossInputs& in) { focal_loss(g, in.outputs, in.labels, {.gamma = 2}); }},
      {"focal_weighted",
       [](Graph& g, const LossInputs& in) {
         focal_loss(g, in.outputs, in.labels, {.gamma = 0.5f, .class_weights = class_weights()});
       }},
      {"focal_two_classes", two_classes},
      {"binary", [](Graph& g, const LossInputs& in) { binary_loss(g, in.outputs, in.bits); }},
      {"huber",
       [](Graph& g, const LossInputs& in) { huber_loss(g, in.outputs, in.values, 1.25f); }},
      {"mse",
       [](Graph& g, const LossInputs& in) {
         reconstruction_loss(g, in.outputs, in.values, Regression::mse);
       }},
      {"l1",
       [](Graph& g, const LossInputs& in) {
         reconstruction_loss(g, in.outputs, in.values, Regression::l1);
       }},
      {"kl",
       [](Graph& g, const LossInputs& in) { distillation_loss(g, in.outputs, in.teacher, {}); }},
      {"distillation",
       [](Graph& g, const LossInputs& in) {
         cross_entropy_loss(g, in.outputs, in.labels, {.weight = 0.25f});
         distillation_loss(g, in.outputs, in.teacher, {.temperature = 4, .weight = 0.75f});
       }},
  };
}

class LossFunctions : public OnEachKind {};

TEST_P(LossFunctions, EqualPyTorchs) {
  std::vector<float> outputs = flat<float>("outputs"), values = flat<float>("values");
  std::vector<float> bits = flat<float>("bits"), teacher = flat<float>("teacher");
  std::vector<int32_t> labels = flat<int32_t>("labels"), parities = labels;
  for (int32_t& label : parities) label %= 2;
  auto samples = static_cast<int64_t>(labels.size());
  Shape shape{samples, static_cast<int64_t>(outputs.size()) / samples};
  RunChoices choices;
  if (on_gpu()) choices.device = {DeviceKind::cuda, 0};
  choices.fill = [&](const ParameterEntry&, std::span<float> to) {
    std::ranges::copy(outputs, to.begin());
  };
  EXPECT_EQ(cases().size(), figures()["cases"].size());
  for (const LossCase& loss : cases()) {
    const Json& recorded = figures()["cases"][loss.name];
    Graph graph(true);
    LossInputs in;
    in.labels = graph.input("labels", {{samples}, DType::i32});
    in.values = graph.input("values", {shape, DType::f32});
    in.bits = graph.input("bits", {shape, DType::f32});
    in.teacher = graph.input("teacher", {shape, DType::f32});
    in.outputs = graph.parameter("outputs", shape, init::constant(0));
    loss.add(graph, in);
    bool two = std::string(loss.name) == "focal_two_classes";
    GraphRun run = run_graph(
        std::move(graph),
        {two ? parities.data() : labels.data(), values.data(), bits.data(), teacher.data()},
        labels.size(), choices);
    double expected = recorded["loss"];
    EXPECT_NEAR(run.loss, expected, 1e-6 * std::abs(expected)) << loss.name;
    auto gradient = recorded["gradient"].get<std::vector<double>>();
    const std::vector<float>& found = run.gradients.at("outputs");
    ASSERT_EQ(found.size(), gradient.size());
    double largest = 0;
    for (double each : gradient) largest = std::max(largest, std::abs(each));
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], gradient[i], 1e-6 * largest) << loss.name << ' ' << i;
  }
}

SPIRE_TEST_ON_EACH_KIND(LossFunctions);

}  // namespace
}  // namespace spire
