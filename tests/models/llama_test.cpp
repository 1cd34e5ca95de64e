// Tests Llama: published sizes, causality, what its keys override, refused configs.
#include <functional>

#include <gtest/gtest.h>

#include <spire/error.h>

#include "engine/graph/graph.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/rope/rope.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"
#include "models/model.h"
#include "tests/base/message_of.h"
#include "tests/models/forward.h"

namespace spire {
namespace {

const ModelConfig test_llama = {
    .name = "llama", .blocks = 2, .width = 24, .heads = 6, .kv_heads = 2, .mlp_width = 20};

Graph llama_graph(ModelConfig config, int64_t length, int64_t vocabulary, bool training = true,
                  const LossConfig& loss = {}) {
  config.name = "llama";
  std::vector<Column> columns = {{"tokens", {length}, DType::i32},
                                 {"targets", {length}, DType::i32}};
  return build_model(config, loss, {.columns = columns, .classes = vocabulary}, training);
}

int64_t elements_of(const Graph& graph) {
  int64_t count = 0;
  for (Value value : graph.values_of(Role::parameter)) count += graph.spec(value).shape.elements();
  return count;
}

Shape shape_of(const Graph& graph, const std::string& name) {
  for (Value value : graph.values_of(Role::parameter))
    if (graph.tensor(value).name == name) return graph.spec(value).shape;
  return {};
}

template <typename SomeOp>
std::vector<const SomeOp*> ops_of(const Graph& graph) {
  std::vector<const SomeOp*> ops;
  for (const Node& node : graph.nodes())
    if (const auto* op = dynamic_cast<const SomeOp*>(node.op.get())) ops.push_back(op);
  return ops;
}

// Counts of SmolLM-135M, Llama 3.2 1B and 3B, Llama 3 8B; that of llama_tiny by hand.
TEST(Llama, HasThePublishedParameterCounts) {
  EXPECT_EQ(elements_of(llama_graph({.size = "llama_135m", .tied_head = true}, 64, 49152)),
            134515008);
  EXPECT_EQ(elements_of(llama_graph({.size = "llama_1b", .tied_head = true}, 64, 128256)),
            1235814400);
  EXPECT_EQ(elements_of(llama_graph({.size = "llama_3b", .tied_head = true}, 64, 128256)),
            3212749824);
  EXPECT_EQ(elements_of(llama_graph({.size = "llama_8b"}, 64, 128256)), 8030261248);
  int64_t block = 288 * (288 + 2 * 96) + 288 * 288 + 3 * 288 * 768 + 2 * 288;
  EXPECT_EQ(elements_of(llama_graph({}, 64, 100)), 2 * 100 * 288 + 6 * block + 288);
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
  EXPECT_EQ(elements_of(graph) - elements_of(llama_graph(tied, 7, 11)), 11 * 24);
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

// A logit depends on its own token and those before it: bits before a changed token stay.
TEST(Llama, NoLogitSeesALaterToken) {
  constexpr size_t length = 9, vocabulary = 13, changed = 5;
  std::vector<int32_t> tokens = {3, 1, 4, 1, 5, 9, 2, 6, 5};
  auto logits = [&] {
    return forward(llama_graph(test_llama, length, vocabulary, false), tokens.data());
  };
  std::vector<float> before = logits();
  tokens[changed] = 12;
  std::vector<float> after = logits();
  ASSERT_EQ(before.size(), length * vocabulary);
  for (size_t t = 0; t < length; ++t) {
    auto row = [&](const std::vector<float>& all) {
      return std::vector<float>(all.begin() + static_cast<int64_t>(t * vocabulary),
                                all.begin() + static_cast<int64_t>((t + 1) * vocabulary));
    };
    EXPECT_EQ(row(before) == row(after), t < changed) << t;
  }
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
