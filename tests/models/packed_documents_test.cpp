// Tests that gpt and llama keep the documents of a packed row apart.
#include <cmath>
#include <map>
#include <span>

#include <gtest/gtest.h>

#include "models/model.h"
#include "tests/base/message_of.h"
#include "tests/graph/run_graph.h"

namespace spire {
namespace {

constexpr int64_t vocabulary = 13, context = 90;

const ModelConfig packed_gpt = {
    .name = "gpt", .blocks = 2, .width = 24, .heads = 3, .context = context};
const ModelConfig packed_llama = {.name = "llama",
                                  .blocks = 2,
                                  .width = 24,
                                  .heads = 6,
                                  .context = context,
                                  .kv_heads = 2,
                                  .mlp_width = 20};

Graph graph_of(const ModelConfig& model, int64_t length, bool packed) {
  std::vector<Column> columns = {{"tokens", {length}, DType::i32},
                                 {"targets", {length}, DType::i32}};
  if (packed) columns.push_back({"positions", {length}, DType::i32});
  return build_model(model, {}, {.columns = columns, .classes = vocabulary}, true);
}

// A text (T + 1): token i and target i are its numbers i and i + 1.
std::vector<int32_t> made_up_text(int64_t length) {
  std::vector<int32_t> text;
  for (int64_t i = 0; i <= length; ++i)
    text.push_back(static_cast<int32_t>((i * i + 3 * i + i / 5) % vocabulary));
  return text;
}

GraphRun run(const ModelConfig& model, std::span<const int32_t> tokens, const int32_t* targets,
             const std::vector<int32_t>& positions) {
  std::vector<const void*> inputs = {tokens.data(), targets};
  if (!positions.empty()) inputs.push_back(positions.data());
  // Weights of a size at which positions and attention count.
  RunChoices choices;
  choices.fill = [](const ParameterEntry& entry, std::span<float> values) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = 0.6f * std::sin(0.7f * static_cast<float>(i + entry.name.size())) +
                  (entry.name.ends_with("gamma") ? 1.0f : 0.0f);
  };
  return run_graph(graph_of(model, std::ssize(tokens), !positions.empty()), inputs, 1, choices);
}

class PackedModels : public testing::TestWithParam<ModelConfig> {};

// T loss(row) = sum of T_d loss(document d), and so for each gradient. The parts differ in
// rounding.
TEST_P(PackedModels, ARowIsTheSumOfItsDocuments) {
  for (std::vector<int64_t> lengths : {std::vector<int64_t>{4, 5}, {1, 6, 2}, {70, 20}}) {
    int64_t total = 0;
    std::vector<int32_t> positions;
    for (int64_t length : lengths)
      for (int64_t i = 0; i < length; ++i, ++total) positions.push_back(static_cast<int32_t>(i));
    std::vector<int32_t> text = made_up_text(total);
    std::span<const int32_t> tokens = std::span<const int32_t>(text).first(text.size() - 1);
    GraphRun row = run(GetParam(), tokens, text.data() + 1, positions);

    double loss = 0;
    std::map<std::string, std::vector<double>> gradients;
    std::vector<float> outputs;
    size_t begin = 0;
    for (int64_t length : lengths) {
      auto count = static_cast<size_t>(length);
      GraphRun alone = run(GetParam(), tokens.subspan(begin, count), text.data() + begin + 1, {});
      double share = static_cast<double>(length) / static_cast<double>(total);
      loss += share * alone.loss;
      for (const auto& [name, values] : alone.gradients) {
        auto& sums = gradients[name];
        sums.resize(values.size());
        for (size_t i = 0; i < values.size(); ++i) sums[i] += share * double{values[i]};
      }
      outputs.insert(outputs.end(), alone.output.begin(), alone.output.end());
      begin += count;
    }
    EXPECT_NEAR(row.loss, loss, 1e-5 * loss);
    ASSERT_EQ(row.output.size(), outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      ASSERT_NEAR(row.output[i], outputs[i], 1e-4) << "output " << i;
    for (const auto& [name, values] : row.gradients) {
      double largest = 0;
      for (double value : gradients.at(name)) largest = std::max(largest, std::abs(value));
      EXPECT_GT(largest, 0) << name;
      for (size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(values[i], gradients.at(name)[i], 1e-4 * largest + 2e-6) << name << " " << i;
    }
  }
}

// Without positions the same tokens are one text, of another loss.
TEST_P(PackedModels, BordersCount) {
  std::vector<int32_t> text = made_up_text(9);
  std::span<const int32_t> tokens = std::span<const int32_t>(text).first(9);
  double packed = run(GetParam(), tokens, text.data() + 1, {0, 1, 2, 3, 0, 1, 2, 3, 4}).loss;
  double joined = run(GetParam(), tokens, text.data() + 1, {}).loss;
  EXPECT_GT(std::abs(packed - joined), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Models, PackedModels, testing::Values(packed_gpt, packed_llama),
                         [](const auto& test) { return test.param.name; });

TEST(PackedDocuments, OtherModelsAreRefused) {
  ModelConfig layers = {.name = "layers"};
  EXPECT_EQ(message_of(Category::config, [&] { graph_of(layers, 8, true); }),
            "data.tokens.documents: packed needs a model that keeps documents apart, gpt or llama, "
            "got layers; change model.name, or use joined");
}

TEST(PackedDocuments, PredictionsReadTextsApart) {
  std::vector<Column> columns = {{"tokens", {8}, DType::i32}, {"positions", {8}, DType::i32}};
  ASSERT_EQ(unpacked_columns(columns).size(), 1u);
  EXPECT_EQ(unpacked_columns(columns)[0].name, "tokens");
}

}  // namespace
}  // namespace spire
