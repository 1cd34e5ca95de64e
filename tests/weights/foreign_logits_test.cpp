// Spire computes what torchvision, transformers and PyTorch compute from the same weights.
// foreign_logits.json holds their figures; record.py beside it made them.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/weights/weight_match.h"
#include "tests/models/forward.h"
#include "tests/weights/made_tensors.h"

namespace spire {
namespace {

struct Foreign {
  std::string name;  // in foreign_logits.json
  WeightNames names;
  MadeModel model;
};

std::vector<double> recorded(const std::string& name) {
  std::ifstream file(SPIRE_FOREIGN_LOGITS);
  return nlohmann::json::parse(file)["logits"][name].get<std::vector<double>>();
}

// Rows of the model's input, by record.py's formula.
std::vector<std::byte> made_rows(const MadeModel& model, int64_t batch) {
  const Column& column = model.columns[0];
  auto count = static_cast<size_t>(batch * column.shape.elements());
  std::vector<std::byte> rows(count * 4);
  for (size_t i = 0; i < count; ++i) {
    double u = formula_number(column.name, static_cast<uint32_t>(i));
    auto token = static_cast<int32_t>((u + 1) / 2 * static_cast<double>(model.classes));
    auto pixel = static_cast<float>(u);
    std::memcpy(rows.data() + 4 * i, column.name == "tokens" ? static_cast<void*>(&token) : &pixel,
                4);
  }
  return rows;
}

class ForeignLogits : public testing::TestWithParam<Foreign> {};

TEST_P(ForeignLogits, AreTheirs) {
  const auto& [name, names, model] = GetParam();
  constexpr int64_t batch = 2;
  Graph graph = model.graph(batch);
  // The names come from the table under test: wrong ones give other values, so other logits.
  WeightFile file("made up", foreign_tensors(name_table(names, model.config, graph)));
  WeightMatch match(file, {.names = names}, model.config, graph);
  Graph training = model.graph(batch, true);
  ParameterLayout layout(training, differentiate(training));
  std::vector<float> weights(static_cast<size_t>(layout.total_floats()));
  for (const ParameterEntry& entry : layout.entries()) {
    auto values = std::span(weights).subspan(static_cast<size_t>(entry.offset),
                                             static_cast<size_t>(entry.elements()));
    ASSERT_TRUE(match.read(entry.name, values)) << entry.name;
  }
  auto rows = made_rows(model, batch);
  auto logits = forward(std::move(graph), rows.data(), layout, weights.data());
  auto expected = recorded(name);
  ASSERT_EQ(logits.size(), expected.size());
  for (size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], expected[i], 1e-4) << i;
}

ModelConfig resnet(int64_t depth) {
  return {.name = "resnet", .depth = depth, .variant = ModelConfig::Variant::imagenet};
}
ModelConfig vit(double epsilon) {
  return {.name = "vit", .blocks = 2, .width = 32, .heads = 4, .patch = 8, .epsilon = epsilon};
}

INSTANTIATE_TEST_SUITE_P(
    Models, ForeignLogits,
    testing::Values(
        Foreign{"resnet18", WeightNames::torchvision, {resnet(18), image_columns(64)}},
        Foreign{"resnet50", WeightNames::torchvision, {resnet(50), image_columns(64)}},
        Foreign{"torchvision_vit", WeightNames::torchvision, {vit(0), image_columns(16)}},
        Foreign{"gpt2",
                WeightNames::huggingface,
                {{.name = "gpt", .blocks = 2, .width = 32, .heads = 4, .context = 16},
                 token_columns(12),
                 61}},
        Foreign{"llama",
                WeightNames::huggingface,
                {{.name = "llama",
                  .blocks = 2,
                  .width = 32,
                  .heads = 4,
                  .kv_heads = 2,
                  .mlp_width = 48,
                  .rope_theta = 500},
                 token_columns(12),
                 61}},
        Foreign{"tied_llama",
                WeightNames::huggingface,
                {{.name = "llama",
                  .blocks = 2,
                  .width = 32,
                  .heads = 4,
                  .epsilon = 1e-6,
                  .mlp_width = 48,
                  .tied_head = true},
                 token_columns(12),
                 61}},
        Foreign{"vit", WeightNames::huggingface, {vit(1e-12), image_columns(16)}},
        Foreign{"cnn",
                WeightNames::pytorch,
                {{.name = "cnn", .hidden = {7}, .channels = {4, 6}}, image_columns(8)}},
        Foreign{"autoencoder",
                WeightNames::pytorch,
                {{.name = "autoencoder", .hidden = {5}, .channels = {4, 6}}, image_columns(8)}},
        Foreign{"mlp", WeightNames::pytorch, {{.name = "mlp", .hidden = {6}}, image_columns(4)}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
