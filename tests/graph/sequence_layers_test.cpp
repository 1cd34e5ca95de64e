// Tests gradients and losses of small transformers, a language model and a vision model.
#include <cmath>

#include <gtest/gtest.h>

#include <spire/layers.h>

#include "tests/graph/run_graph.h"

namespace spire {
namespace {

constexpr int64_t batch = 3, length = 5, width = 8, vocabulary = 11;

Initializer spread(float size) {
  return [size](const RandomStream& random, int64_t first, std::span<float> values) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = size * (2 * random.uniform(static_cast<size_t>(first) + i) - 1);
  };
}

struct Choices {
  bool training = true;
  float dropout = 0;
  // Added to one element of one parameter.
  std::string moved = {};
  size_t element = 0;
  float by = 0;
};

Initializer initial(const std::string& name, const Choices& choices, float size = 0.5f) {
  return [=](const RandomStream& random, int64_t first, std::span<float> values) {
    spread(size)(random, first, values);
    if (name == choices.moved) values[choices.element] += choices.by;
  };
}

Value block(Graph& g, Value x, const Choices& choices) {
  Value qkv = dense(g, "qkv", layer_norm(g, "norm1", x), 3 * width, true, initial("qkv", choices));
  Value heads = attention(g, qkv, {.heads = 2, .causal = true, .dropout = choices.dropout});
  x = add(g, x, dense(g, "proj", heads, width, true, initial("proj", choices)));
  Value wide = dense(g, "up", layer_norm(g, "norm2", x), 4 * width, true, initial("up", choices));
  return add(g, x, dense(g, "down", gelu_tanh(g, wide), width, true, initial("down", choices)));
}

// Predicts the label of every position; the table is also the head.
Graph language_model(const Choices& choices) {
  Graph g(choices.training);
  Value ids = g.input("ids", {{batch, length}, DType::i32});
  Value labels = g.input("labels", {{batch, length}, DType::i32});
  auto words = embedding(g, "words", ids, vocabulary, width, DType::f32, initial("words", choices));
  Value x = position_embedding(g, "positions", words.output, initial("positions", choices));
  x = layer_norm(g, "norm3", block(g, x, choices));
  cross_entropy_loss(g, tied_dense(g, words.table, x), labels, {.label_smoothing = 0.1f});
  return g;
}

GraphRun run(Graph graph) {
  std::vector<int32_t> ids(batch * length), labels(batch * length);
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int32_t>(i * i % vocabulary);
    labels[i] = static_cast<int32_t>((i + 3) * 5 % vocabulary);
  }
  std::vector<float> bits(ids.size());
  std::memcpy(bits.data(), ids.data(), ids.size() * sizeof(float));  // the first input takes floats
  return run_graph(std::move(graph), bits, labels, {.poison = 0xff});
}

// f'(0), its error of the fourth order in the step.
template <typename F>
double slope(const F& f) {
  constexpr float h = 5e-3f;
  return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * double{h});
}

TEST(LanguageModel, GradientsFollowDifferencesOfTheLoss) {
  GraphRun center = run(language_model({}));
  ASSERT_TRUE(std::isfinite(center.loss));
  for (std::string name : {"words", "positions", "qkv", "proj", "up", "down"}) {
    const auto& gradient = center.gradients.at(name + ".weight");
    size_t i = gradient.size() / 3;
    auto loss = [&](float by) {
      return run(language_model({.moved = name, .element = i, .by = by})).loss;
    };
    // The harness's gradient_scale is 1 / labels; a sample's loss is already a mean.
    double numeric = slope(loss) / (batch * length);
    EXPECT_NEAR(double{gradient[i]}, numeric, 3e-3 * std::abs(numeric) + 2e-6) << name;
    EXPECT_GT(std::abs(numeric), 1e-5) << name;
  }
}

TEST(LanguageModel, LossIsAMeanOverPositions) {
  double loss = run(language_model({})).loss;
  EXPECT_GT(loss, batch * 0.5 * std::log(vocabulary));
  EXPECT_LT(loss, batch * 3.0 * std::log(vocabulary));
}

TEST(LanguageModel, DropoutActsInTrainingOnly) {
  auto keys = [](const Graph& graph) {
    int count = 0;
    for (const Node& node : graph.nodes()) {
      if (node.op->name() == "attention") count += static_cast<int>(node.outputs.size()) - 2;
    }
    return count;
  };
  EXPECT_EQ(keys(language_model({.dropout = 0.1f})), 1);
  EXPECT_EQ(keys(language_model({.training = false, .dropout = 0.1f})), 0);
  EXPECT_NE(run(language_model({.dropout = 0.5f})).loss, run(language_model({})).loss);
}

// A class token before the patches, and the head on that token alone.
Graph vision_model(float by) {
  Graph g(true);
  Value patches = g.input("patches", {{batch, length - 1, width}, DType::f32});
  Value labels = g.input("labels", {{batch}, DType::i32});
  Choices choices{.moved = "token", .element = 2, .by = by};
  Value token = g.parameter("token", {1, width}, initial("token", choices));
  Value x = concat(g, {expand(g, token, batch, DType::f32), patches}, 1);
  x = block(g, position_embedding(g, "positions", x, spread(0.1f)), choices);
  Value first = reshape(g, slice(g, x, 1, 0, 1), {batch, width});
  cross_entropy_loss(g, dense(g, "head", first, 3, true, spread(0.5f)), labels, 0.0f);
  return g;
}

TEST(VisionModel, ClassTokenLearns) {
  std::vector<float> patches(batch * (length - 1) * width);
  for (size_t i = 0; i < patches.size(); ++i) patches[i] = std::cos(float(i * i));
  auto run = [&](float by) { return run_graph(vision_model(by), patches, {0, 2, 1}); };
  double numeric = slope([&](float by) { return run(by).loss; }) / batch;
  double analytic = run(0).gradients["token"][2];
  EXPECT_NEAR(analytic, numeric, 3e-3 * std::abs(numeric) + 2e-6);
  EXPECT_GT(std::abs(numeric), 1e-4);
}

TEST(ShapeLayers, NegativeAxesCountFromTheLast) {
  Graph g(true);
  Value x = g.input("x", {{2, 3, 4}, DType::f32});
  Value indices = g.input("indices", {{7}, DType::i32});
  EXPECT_EQ(g.spec(slice(g, x, -1, 1, 2)).shape, (Shape{2, 3, 2}));
  EXPECT_EQ(g.spec(gather(g, x, indices, -2)).shape, (Shape{2, 7, 4}));
  EXPECT_EQ(g.spec(transpose(g, x, {2, 0, 1})).shape, (Shape{4, 2, 3}));
  EXPECT_THROW(slice(g, x, -4, 0, 1), Error);
}

}  // namespace
}  // namespace spire
