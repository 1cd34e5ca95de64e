// Tests that models with blocks give the same bits when backward recomputes the blocks.
#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include <spire/layers.h>

#include "engine/base/hash.h"
#include "models/model.h"
#include "tests/graph/run_graph.h"

namespace spire {
namespace {

constexpr int64_t batch = 2;

struct Case {
  std::string name;
  ModelConfig model;
  std::vector<Column> columns = {{"images", {16, 16, 3}}, {"labels", {}, DType::i32}};
  DType dtype = DType::f32;
};

Graph graph_of(const Case& c) {
  auto columns = c.columns;
  if (columns[0].dtype == DType::f32) columns[0].dtype = c.dtype;
  return build_model(c.model, {},
                     {.columns = columns, .classes = 10, .batch = batch, .dtype = c.dtype}, true);
}

// 32 bits of input each: a small number, as fp32 or twice as bf16, or a token below 10.
std::vector<float> inputs_of(const Case& c) {
  RandomStream random(9, Purpose::initialize);
  std::vector<float> values(static_cast<size_t>(batch * c.columns[0].shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    auto number = std::bit_cast<uint32_t>(2 * random.uniform(i) - 1);
    auto bits = static_cast<uint32_t>(random.below(i, 10));
    if (c.columns[0].dtype == DType::f32)
      bits = c.dtype == DType::f32 ? number : (number & 0xffff0000) | number >> 16;
    values[i] = std::bit_cast<float>(bits);
  }
  return values;
}

std::vector<int32_t> targets_of(const Case& c) {
  RandomStream random(10, Purpose::initialize);
  std::vector<int32_t> targets(static_cast<size_t>(batch * c.columns.back().shape.elements()));
  for (size_t i = 0; i < targets.size(); ++i)
    targets[i] = static_cast<int32_t>(random.below(i, 10));
  return targets;
}

// Nowhere zero, so that gradients reach every weight.
void fill(const ParameterEntry& entry, std::span<float> values) {
  RandomStream random(3, Purpose::initialize, hash64(entry.name.data(), entry.name.size()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.2f * random.uniform(i) - 0.08f;
}

class Recompute : public testing::TestWithParam<Case> {};

TEST_P(Recompute, GivesTheSameBitsInLessMemory) {
  const Case& c = GetParam();
  auto inputs = inputs_of(c);
  auto targets = targets_of(c);
  RunChoices choices{.poison = 0xff, .step = 5, .fill = fill};
  GraphRun kept = run_graph(graph_of(c), inputs, targets, choices);
  choices.recompute = true;
  GraphRun anew = run_graph(graph_of(c), inputs, targets, choices);
  EXPECT_EQ(anew.loss, kept.loss);
  EXPECT_EQ(anew.gradients, kept.gradients);
  EXPECT_LT(anew.arena_bytes, kept.arena_bytes);
  for (const auto& [name, values] : kept.gradients)
    EXPECT_TRUE(std::ranges::any_of(values, [](float v) { return v != 0; })) << name;
}

const std::vector<Column> test_tokens = {{"tokens", {12}, DType::i32},
                                         {"targets", {12}, DType::i32}};

INSTANTIATE_TEST_SUITE_P(
    All, Recompute,
    testing::Values(
        Case{"resnet_identity",
             {.name = "resnet", .depth = 14, .shortcut = ModelConfig::Shortcut::identity}},
        Case{"resnet_bottleneck_bf16",
             {.name = "resnet", .depth = 50, .variant = ModelConfig::Variant::imagenet},
             {{"images", {32, 32, 3}}, {"labels", {}, DType::i32}},
             DType::bf16},
        Case{"vgg", {.name = "vgg", .depth = 13, .dropout = 0.3}},
        Case{"unet", {.name = "unet", .channels = {4, 8}}},
        Case{"vit",
             {.name = "vit", .dropout = 0.2, .blocks = 3, .width = 32, .heads = 4, .patch = 4}},
        Case{"gpt",
             {.name = "gpt", .dropout = 0.2, .blocks = 3, .width = 32, .heads = 4},
             test_tokens},
        Case{"llama",
             {.name = "llama", .dropout = 0.2, .blocks = 3, .width = 32, .heads = 4, .kv_heads = 2},
             test_tokens},
        Case{"gpt_bf16",
             {.name = "gpt", .dropout = 0.2, .blocks = 3, .width = 32, .heads = 4},
             test_tokens,
             DType::bf16}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
