// Tests GPT-2 and vision transformers: published sizes, causality, refused configs.
#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "engine/graph/graph.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/elementwise/elementwise.h"
#include "kernels/ops/rope/rope.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"
#include "models/model.h"
#include "tests/base/message_of.h"
#include "tests/graph/run_graph.h"
#include "tests/models/forward.h"

namespace spire {
namespace {

using testing::HasSubstr;

std::vector<Column> token_columns(int64_t length) {
  return {{"tokens", {length}, DType::i32}, {"targets", {length}, DType::i32}};
}

Graph gpt_graph(const ModelConfig& config, int64_t length, int64_t vocabulary, int64_t batch = 1,
                bool training = true) {
  return build_model(config, {},
                     {.columns = token_columns(length), .classes = vocabulary, .batch = batch},
                     training);
}

Graph vit_graph(const ModelConfig& config, Shape image, int64_t classes, int64_t batch = 1,
                bool training = true) {
  return build_model(config, {},
                     {.columns = {{"images", image}, {"labels", {}, DType::i32}},
                      .classes = classes,
                      .batch = batch},
                     training);
}

int64_t weight_count(const Graph& graph) {
  int64_t count = 0;
  for (Value value : graph.values_of(Role::parameter)) count += graph.spec(value).shape.elements();
  return count;
}

Shape shape_of(const Graph& graph, const std::string& name) {
  for (Value value : graph.values_of(Role::parameter))
    if (graph.tensor(value).name == name) return graph.spec(value).shape;
  return {};
}

std::string refusal(const std::function<void()>& build) {
  return message_if_any(Category::config, build);
}

TEST(Gpt, HasThePublishedParameterCounts) {
  const std::vector<std::pair<std::string, int64_t>> published = {{"gpt2", 124439808},
                                                                  {"gpt2_medium", 354823168},
                                                                  {"gpt2_large", 774030080},
                                                                  {"gpt2_xl", 1557611200}};
  for (const auto& [size, count] : published)
    EXPECT_EQ(weight_count(gpt_graph({.name = "gpt", .size = size}, 1024, 50257)), count) << size;
}

TEST(Vit, HasThePublishedParameterCounts) {
  const std::vector<std::pair<std::string, int64_t>> published = {
      {"tiny", 5717416}, {"small", 22050664}, {"base", 86567656}};
  for (const auto& [size, count] : published)
    EXPECT_EQ(weight_count(vit_graph({.name = "vit", .size = size}, {224, 224, 3}, 1000)), count)
        << size;
}

// torchvision's vit_b_16 at 224x224: 17.56 giga multiply-adds.
TEST(Vit, HasThePublishedMultiplyAdds) {
  Graph graph = vit_graph({.name = "vit", .size = "base"}, {224, 224, 3}, 1000);
  auto total = static_cast<double>(total_of(layer_table(graph)).multiply_adds);
  EXPECT_DOUBLE_EQ(std::round(total / 1e7) / 1e2, 17.56);
}

// Of C multiply-adds a weight of the matrices a token passes, and 2 T C of attention a block.
TEST(Gpt, HasTheMultiplyAddsOfItsMatrices) {
  int64_t blocks = 12, width = 768, length = 1024, vocabulary = 50257;
  Graph graph = gpt_graph({.name = "gpt"}, length, vocabulary);
  EXPECT_EQ(total_of(layer_table(graph)).multiply_adds,
            length * (blocks * (12 * width * width + 2 * length * width) + width * vocabulary));
}

const ModelConfig test_gpt = {.name = "gpt", .blocks = 2, .width = 24, .heads = 3};

TEST(Gpt, GivesLogitsOfEachTokenAndALossOfEachRow) {
  Graph graph = gpt_graph(test_gpt, 7, 11, 3);
  EXPECT_EQ(graph.spec(graph.outputs().at("output")).shape, (Shape{3, 7, 11}));
  EXPECT_TRUE(graph.outputs().contains("loss"));
  EXPECT_EQ(graph.blocks().size(), 2u);
}

// The head's weights are the tokens' table: there is one parameter of its shape.
TEST(Gpt, TiesItsHeadToTheTable) {
  Graph graph = gpt_graph(test_gpt, 7, 11);
  int tables = 0;
  for (Value value : graph.values_of(Role::parameter))
    tables += graph.spec(value).shape == Shape{11, 24} ? 1 : 0;
  EXPECT_EQ(tables, 1);
}

TEST(Gpt, BeginsAsThePaperSays) {
  Graph graph = gpt_graph({.name = "gpt", .blocks = 8, .width = 64, .heads = 4}, 32, 100);
  auto deviation = [&](const std::string& wanted) {
    for (Value value : graph.values_of(Role::parameter)) {
      const Tensor& tensor = graph.tensor(value);
      if (tensor.name != wanted) continue;
      std::vector<float> values(static_cast<size_t>(tensor.spec.shape.elements()));
      tensor.initialize(RandomStream(1, Purpose::initialize), 0, values);
      double squares = 0;
      for (float v : values) squares += static_cast<double>(v) * v;
      return std::sqrt(squares / static_cast<double>(values.size()));
    }
    return 0.0;
  };
  EXPECT_NEAR(deviation("tokens.weight"), 0.02, 0.001);
  EXPECT_NEAR(deviation("positions.weight"), 0.02, 0.001);
  EXPECT_NEAR(deviation("block3.attention.qkv.weight"), 0.02, 0.001);
  EXPECT_NEAR(deviation("block3.mlp.up.weight"), 0.02, 0.001);
  EXPECT_NEAR(deviation("block3.attention.project.weight"), 0.02 / 4, 0.0003);
  EXPECT_NEAR(deviation("block3.mlp.down.weight"), 0.02 / 4, 0.0003);
}

// A logit depends on its own token and those before it: bits before a changed token stay. The graph
// has a row of 9 tokens of 13.
void expect_causal(const std::function<Graph()>& graph) {
  constexpr size_t vocabulary = 13, changed = 5;
  std::vector<int32_t> tokens = {3, 1, 4, 1, 5, 9, 2, 6, 5};
  std::vector<float> before = forward(graph(), tokens.data());
  tokens[changed] = 12;
  std::vector<float> after = forward(graph(), tokens.data());
  ASSERT_EQ(before.size(), tokens.size() * vocabulary);
  for (size_t t = 0; t < tokens.size(); ++t) {
    auto row = before.begin() + static_cast<std::ptrdiff_t>(t * vocabulary);
    bool same = std::equal(row, row + vocabulary, after.begin() + (row - before.begin()));
    EXPECT_EQ(same, t < changed) << t;
  }
}

TEST(Gpt, NoLogitSeesALaterToken) {
  expect_causal([] { return gpt_graph(test_gpt, 9, 13, 1, false); });
}

// With a context of its own the model takes shorter rows, and the first positions' vectors.
TEST(Gpt, ShortRowsReadTheFirstPositions) {
  ModelConfig config = test_gpt;
  config.context = 9;
  std::vector<int32_t> tokens = {3, 1, 4, 1, 5, 9, 2, 6, 5};
  std::vector<float> whole = forward(gpt_graph(config, 9, 13, 1, false), tokens.data());
  std::vector<float> part = forward(gpt_graph(config, 4, 13, 1, false), tokens.data());
  ASSERT_EQ(part.size(), 4u * 13);
  for (size_t i = 0; i < part.size(); ++i) EXPECT_NEAR(part[i], whole[i], 1e-6);
  EXPECT_EQ(weight_count(gpt_graph(config, 4, 13)), weight_count(gpt_graph(config, 9, 13)));
}

TEST(Gpt, DropsOutOnlyInTraining) {
  ModelConfig config = test_gpt;
  auto dropouts = [&](bool training) {
    return op_count(gpt_graph(config, 7, 11, 1, training), "dropout");
  };
  EXPECT_EQ(dropouts(true), 0);
  config.dropout = 0.1;
  EXPECT_EQ(dropouts(true), 1 + 2 * 2);
  EXPECT_EQ(dropouts(false), 0);
}

TEST(Vit, ReadsSmallImages) {
  Graph graph = vit_graph({.name = "vit", .patch = 4}, {28, 28, 1}, 10, 2);
  EXPECT_EQ(graph.spec(graph.outputs().at("output")).shape, (Shape{2, 10}));
  EXPECT_EQ(graph.blocks().size(), 12u);
  EXPECT_EQ(shape_of(graph, "positions.weight"), (Shape{50, 192}));
  EXPECT_EQ(shape_of(graph, "patches.weight"), (Shape{192, 1, 4, 4}));
}

TEST(Transformers, SayWhatDoesNotFit) {
  auto gpt = [](ModelConfig config, int64_t length = 8) {
    config.name = "gpt";
    return refusal([&] { gpt_graph(config, length, 10); });
  };
  auto vit = [](ModelConfig config, Shape image) {
    config.name = "vit";
    return refusal([&] { vit_graph(config, image, 10); });
  };
  EXPECT_EQ(gpt({.size = "tiny"}),
            "model.size: tiny is not a size of a gpt; use gpt2, gpt2_medium, gpt2_large, gpt2_xl");
  EXPECT_EQ(vit({.size = "gpt2"}, {32, 32, 3}),
            "model.size: gpt2 is not a size of a vit; use tiny, small, base");
  EXPECT_EQ(gpt({.width = 100}),
            "model.heads: 12 does not divide model.width 100; use a divisor of it");
  EXPECT_EQ(gpt({.context = 7}),
            "model.context: 7 is less than the 8 tokens of the data's rows; use at least that");
  EXPECT_THAT(
      vit({}, {28, 28, 1}),
      HasSubstr(
          "model.patch: 16 does not divide the height and width of the data's images (28, 28, "
          "1)"));
}

TEST(Transformers, SayWhichDataTheyNeed) {
  std::vector<Column> images = {{"images", {32, 32, 3}}, {"labels", {}, DType::i32}};
  EXPECT_EQ(
      refusal([&] { build_model({.name = "gpt"}, {}, {.columns = images, .classes = 10}, true); }),
      "model.name: gpt needs tokens, but the data has images, labels; set another model.name or "
      "data.name");
  EXPECT_EQ(refusal([&] {
              build_model({.name = "vit"}, {}, {.columns = token_columns(8), .classes = 10}, true);
            }),
            "model.name: vit needs images or features with labels, but the data has tokens, "
            "targets; set another model.name or data.name");
  std::vector<Column> texts = {{"tokens", {8}, DType::i32}, {"labels", {}, DType::i32}};
  for (const char* name : {"auto", "gpt", "mlp"})
    EXPECT_EQ(
        refusal([&] { build_model({.name = name}, {}, {.columns = texts, .classes = 3}, true); }),
        "model.name: no named model reads tokens, labels; write model.layers: [embedding: "
        "{vocabulary: N, width: 64}, global_avg_pool, dense: classes], where N is the largest "
        "token + 1");
  std::vector<Column> rows = {{"features", {17}}, {"labels", {}, DType::i32}};
  for (const char* name : {"lenet", "cnn", "resnet", "vgg", "vit"})
    EXPECT_EQ(
        refusal([&] { build_model({.name = name}, {}, {.columns = rows, .classes = 2}, true); }),
        fmt::format("model.name: {} needs images (H, W, C), but the data has rows of 17 numbers; "
                    "set model.name: mlp or linear",
                    name));
  EXPECT_EQ(refusal([&] {
              build_model({.name = "gpt"}, {.name = LossConfig::Name::mse},
                          {.columns = token_columns(8), .classes = 10}, true);
            }),
            "loss.name: mse does not fit tokens; use cross_entropy");
}

// Tests Llama: published sizes, causality, what its keys override, refused configs.

const ModelConfig test_llama = {
    .name = "llama", .blocks = 2, .width = 24, .heads = 6, .kv_heads = 2, .mlp_width = 20};

Graph llama_graph(ModelConfig config, int64_t length, int64_t vocabulary, bool training = true,
                  const LossConfig& loss = {}) {
  config.name = "llama";
  return build_model(config, loss, {.columns = token_columns(length), .classes = vocabulary},
                     training);
}

template <typename SomeOp>
std::vector<const SomeOp*> ops_of(const Graph& graph) {
  std::vector<const SomeOp*> ops;
  for (const Node& node : graph.nodes())
    if (const auto* op = dynamic_cast<const SomeOp*>(node.op.get())) ops.push_back(op);
  return ops;
}

// The norms add what the branches contribute to the gradient of the residual stream.
TEST(Llama, AddsUpGradientsInItsNorms) {
  Graph graph = llama_graph(test_llama, 7, 11);
  auto forward = ops_of<AddOp>(graph).size();
  differentiate(graph);
  EXPECT_EQ(ops_of<AddOp>(graph).size(), forward);
}

// Counts of SmolLM-135M, Llama 3.2 1B and 3B, Llama 3 8B; that of llama_tiny by hand.
TEST(Llama, HasThePublishedParameterCounts) {
  EXPECT_EQ(weight_count(llama_graph({.size = "llama_135m", .tied_head = true}, 64, 49152)),
            134515008);
  EXPECT_EQ(weight_count(llama_graph({.size = "llama_1b", .tied_head = true}, 64, 128256)),
            1235814400);
  EXPECT_EQ(weight_count(llama_graph({.size = "llama_3b", .tied_head = true}, 64, 128256)),
            3212749824);
  EXPECT_EQ(weight_count(llama_graph({.size = "llama_8b"}, 64, 128256)), 8030261248);
  int64_t block = 288 * (288 + 2 * 96) + 288 * 288 + 3 * 288 * 768 + 2 * 288;
  EXPECT_EQ(weight_count(llama_graph({}, 64, 100)), 2 * 100 * 288 + 6 * block + 288);
}

TEST(Llama, HasNoBiasesAndAHeadOfItsOwn) {
  Graph graph = llama_graph(test_llama, 7, 11);
  for (Value value : graph.values_of(Role::parameter)) {
    const std::string& name = graph.tensor(value).name;
    EXPECT_TRUE(name.ends_with(".weight") || name.ends_with(".gamma")) << name;
  }
  EXPECT_EQ(shape_of(graph, "head.weight"), (Shape{11, 24}));
  EXPECT_EQ(shape_of(graph, "block2.attention.qkv.weight"), (Shape{24 + 2 * 8, 24}));
  EXPECT_EQ(shape_of(graph, "block2.mlp.gate_up.weight"), (Shape{40, 24}));
  EXPECT_EQ(shape_of(graph, "block2.mlp.down.weight"), (Shape{24, 20}));
  ModelConfig tied = test_llama;
  tied.tied_head = true;
  EXPECT_EQ(weight_count(graph) - weight_count(llama_graph(tied, 7, 11)), 11 * 24);
}

// Keys of a published size that would not fit another width or number of heads do not apply.
TEST(Llama, KeysOverrideTheSize) {
  Graph graph = llama_graph({.width = 128, .heads = 4}, 7, 11);
  EXPECT_EQ(ops_of<AttentionOp>(graph)[0]->attributes().kv_heads, 4);
  EXPECT_EQ(shape_of(graph, "block6.mlp.down.weight"), (Shape{128, 352}));
  EXPECT_EQ(ops_of<RopeOp>(graph)[0]->attributes().theta, 10000);
  for (const char* size : {"llama_1b", "llama_3b", "llama_8b"})
    EXPECT_EQ(ops_of<RopeOp>(llama_graph({.size = size}, 7, 11))[0]->attributes().theta, 5e5);
  Graph turned = llama_graph({.size = "llama_1b", .rope_theta = 1e4}, 7, 11);
  EXPECT_EQ(ops_of<RopeOp>(turned)[0]->attributes().theta, 1e4);
  Graph other = llama_graph({.rope_theta = 5e5}, 7, 11);
  const RopeAttributes& rope = ops_of<RopeOp>(other)[0]->attributes();
  EXPECT_EQ(rope.theta, 5e5);
  EXPECT_EQ(rope.heads, 6 + 2);
  EXPECT_EQ(rope.size, 48);
}

TEST(Llama, NoLogitSeesALaterToken) {
  expect_causal([] { return llama_graph(test_llama, 9, 13, false); });
}

// Positions are in the angles: the same tokens in another order give other logits at the end.
TEST(Llama, KnowsPositions) {
  std::vector<int32_t> one = {3, 1, 4, 7}, other = {1, 3, 4, 7};
  auto a = forward(llama_graph(test_llama, 4, 13, false), one.data());
  auto b = forward(llama_graph(test_llama, 4, 13, false), other.data());
  EXPECT_NE(std::vector(a.end() - 13, a.end()), std::vector(b.end() - 13, b.end()));
}

// Evaluations report the cross entropy alone.
TEST(Llama, TrainsWithAZLoss) {
  LossConfig loss{.z_loss = 0.5};
  auto z_of = [&](bool training) {
    Graph graph = llama_graph(test_llama, 4, 13, training, loss);
    return ops_of<SoftmaxCrossEntropyOp>(graph).at(0)->attributes().z_loss;
  };
  EXPECT_EQ(z_of(true), 0.5f);
  EXPECT_EQ(z_of(false), 0.0f);
}

TEST(Llama, SaysWhatDoesNotFit) {
  auto refusal = [](const ModelConfig& config) {
    return message_if_any(Category::config, [&] { llama_graph(config, 8, 10); });
  };
  EXPECT_EQ(refusal({.size = "gpt2"}),
            "model.size: gpt2 is not a size of a llama; use llama_tiny, llama_135m, llama_1b, "
            "llama_3b, llama_8b");
  EXPECT_EQ(refusal({.width = 100}),
            "model.heads: 6 does not divide model.width 100; use a divisor of it");
  EXPECT_EQ(refusal({.kv_heads = 4}),
            "model.kv_heads: 4 does not divide model.heads 6; use a divisor of it");
  EXPECT_EQ(refusal({.width = 30, .heads = 6}),
            "model.heads: 6 heads of a width of 30 have 5 columns, but rotary positions turn pairs "
            "of columns; use heads of an even number");
  EXPECT_EQ(refusal({.rope_theta = 0.5}),
            "model.rope_theta: 0.5 is no base of angles; use a number larger than 1, or 0 for "
            "10000");
  EXPECT_EQ(refusal({.context = 7}),
            "model.context: 7 is less than the 8 tokens of the data's rows; use at least that");
}

}  // namespace
}  // namespace spire
