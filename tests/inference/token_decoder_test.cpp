// Texts that are generated with a cache of keys and values are those of the whole window.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <spire/load_config.h>

#include "engine/config/text.h"
#include "engine/graph/decoding.h"
#include "engine/inference/predictor.h"
#include "engine/train/model_graph.h"
#include "tests/train/device_kinds.h"

namespace spire {
namespace {

constexpr int64_t context = 20, vocabulary = 37;

// An untrained model with weights so large that its tokens differ.
TrainingState state_of(const std::string& model, const std::string& precision = "fp32") {
  TrainingState state;
  state.config_yaml = "data: {name: tokens, path: x}\nprecision: " + precision + "\n" + model;
  RunConfig config = parse_config({{"test", state.config_yaml}}, {}).config;
  SampleSpec spec;
  spec.columns = {{"tokens", {context}, DType::i32}, {"targets", {context}, DType::i32}};
  spec.classes = vocabulary;
  state.data_spec = to_text(spec);
  auto build = [&](int64_t batch, bool training) {
    return build_model(config.model, config.loss, {spec.columns, vocabulary, batch}, training);
  };
  ParameterLayout layout = make_layout(build, 1);
  std::vector<float> weights(static_cast<size_t>(layout.total_floats()));
  layout.initialize(5, weights.data());
  for (const ParameterEntry& entry : layout.entries()) {
    const float* from = weights.data() + entry.offset;
    NamedTensor tensor{entry.name, entry.shape, {from, from + entry.elements()}};
    bool gain = entry.name.ends_with("gamma");
    for (float& weight : tensor.values) weight *= gain ? 1.0f : 8.0f;
    state.weights.push_back(std::move(tensor));
  }
  return state;
}

bool is_decoded(const std::string& model) {
  RunConfig config = parse_config({{"test", "data: {name: tokens, path: x}\n" + model}}, {}).config;
  std::vector<Column> columns = {{"tokens", {context}, DType::i32},
                                 {"targets", {context}, DType::i32}};
  KeyValueCache cache;
  Graph window = build_model(config.model, config.loss, {columns, vocabulary, 1}, false);
  return decoding_graph(std::move(window), 4, cache).has_value();
}

const std::string gpt = "model: {name: gpt, blocks: 2, width: 32, heads: 4}\n";
const std::string llama =
    "model: {name: llama, blocks: 2, width: 32, heads: 4, kv_heads: 2, mlp_width: 48}\n";
const std::string layers = R"(model:
  layers:
    - embedding: {vocabulary: classes, width: 24}
    - positions
    - repeat: {times: 2, layers: [{transformer_block: {heads: 2, causal: true}}]}
    - residual: {layers: [layer_norm, {attention: {heads: 3, causal: true}}, tanh]}
    - layer_norm
    - dense: {units: classes}
)";

std::vector<int32_t> prompt_of(int64_t length) {
  std::vector<int32_t> prompt;
  for (int64_t i = 0; i < length; ++i)
    prompt.push_back(static_cast<int32_t>((i * i + 3 * i + length) % vocabulary));
  return prompt;
}

class TokenDecoding : public OnEachKind {
 protected:
  static Predictor predictor(const TrainingState& state, bool text) {
    return {state, state, {.device = devices(1)[0], .batch = 1, .text = text}};
  }

  // On emulated GPUs, which are slow, the words are drawn alone.
  static std::vector<double> temperatures() {
    return on_gpu() ? std::vector{1.0} : std::vector{0.0, 1.0};
  }

  // Prompts shorter than the context, as long, and longer; texts that go on after it is full.
  static void expect_same_texts(const TrainingState& state) {
    Predictor whole = predictor(state, false), cached = predictor(state, true);
    TextsPass window = whole.texts_pass(), decoder = cached.texts_pass();
    EXPECT_EQ(decoder.context, context);
    EXPECT_EQ(decoder.vocabulary, vocabulary);
    std::set<int32_t> used;
    for (int64_t length :
         on_gpu() ? std::vector{2, 20, 50} : std::vector{1, 2, 7, 19, 20, 21, 50}) {
      for (double temperature : temperatures()) {
        SCOPED_TRACE(fmt::format("{} tokens at {}", length, temperature));
        GenerateOptions options{{.temperature = temperature}, 14, 11};
        auto prompt = prompt_of(length);
        auto want = generate(window, prompt, options);
        EXPECT_EQ(generate(decoder, prompt, options), want);
        used.insert(want.begin(), want.end());
      }
    }
    EXPECT_GT(used.size(), 10u);
  }

  static void expect_near(std::span<const float> got, std::span<const float> want,
                          float tolerance) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
  }

  static void expect_same_logits(const TrainingState& state, float tolerance) {
    Predictor whole = predictor(state, false), cached = predictor(state, true);
    TextsPass window = whole.texts_pass(), decoder = cached.texts_pass();
    auto text = prompt_of(context + 5);
    decoder.begin(0);
    for (size_t end : {1, 2, 3, 9, 10, 19, 20, 21, 25}) {
      SCOPED_TRACE(end);
      std::span<const int32_t> seen =
          std::span(text).first(end).last(std::min<size_t>(end, context));
      expect_near(decoder.logits({&seen, 1}), window.logits({&seen, 1}), tolerance);
    }
  }
};

TEST_P(TokenDecoding, WritesTheTextsOfTheWholeWindow) {
  expect_same_texts(state_of(gpt));
  expect_same_texts(state_of(llama));
  expect_same_texts(state_of(layers));
}

TEST_P(TokenDecoding, HasTheLogitsOfTheWholeWindow) {
  expect_same_logits(state_of(gpt), 1e-3f);
  expect_same_logits(state_of(llama), 1e-3f);
  expect_same_logits(state_of(layers), 1e-3f);
}

// A table of more positions than the data's rows have tokens.
TEST_P(TokenDecoding, ReadsTheFirstOfMorePositions) {
  const std::string model = "model: {name: gpt, blocks: 1, width: 16, heads: 2, context: 33}\n";
  EXPECT_TRUE(is_decoded(model));
  expect_same_logits(state_of(model), 1e-3f);
}

TEST_P(TokenDecoding, ComputesInTheRunsPrecision) {
  TrainingState state = state_of(gpt, "bf16");
  Predictor whole = predictor(state, false);
  std::vector<int32_t> text = prompt_of(context);
  TextsPass pass = whole.texts_pass();  // has the memory of its logits
  std::span<const int32_t> seen = text;
  auto want = pass.logits({&seen, 1});
  float largest =
      std::abs(*std::ranges::max_element(want, {}, [](float logit) { return std::abs(logit); }));
  EXPECT_GT(largest, 1.0f);
  expect_same_logits(state, 0.05f * largest);
}

// Bits depend on how many tokens are read at a time, so each text begins anew.
TEST_P(TokenDecoding, HasTheSameBitsAfterAnyText) {
  TrainingState state = state_of(gpt);
  Predictor one = predictor(state, true);
  TextsPass decoder = one.texts_pass();
  auto text = prompt_of(9);
  auto logits = [&](size_t end) {
    std::span<const int32_t> seen = std::span(text).first(end);
    auto row = decoder.logits({&seen, 1});
    return std::vector<float>(row.begin(), row.end());
  };
  decoder.begin(0);
  auto alone = logits(9);
  decoder.begin(0);
  for (size_t end = 1; end <= 8; ++end) logits(end);
  decoder.begin(0);
  EXPECT_EQ(logits(9), alone);
}

// Prompts of different lengths, more than places, some of which outgrow the context; one ends early
// and leaves its place to the next.
TEST_P(TokenDecoding, WritesSeveralTextsAsEachAlone) {
  std::vector<std::vector<int32_t>> prompts;
  for (int64_t length : {7, 1, 19, 2, 33}) prompts.push_back(prompt_of(length));
  for (const std::string& model : {gpt, llama, layers}) {
    TrainingState state = state_of(model);
    Predictor alone = predictor(state, true);
    Predictor together(state, state, {.device = devices(1)[0], .batch = 3, .text = true});
    TextsPass one = alone.texts_pass();
    TextsPass several = together.texts_pass();
    EXPECT_EQ(several.texts, 3);
    EXPECT_EQ(several.context, context);
    std::set<int32_t> used;
    for (double temperature : temperatures()) {
      SCOPED_TRACE(fmt::format("{} at {}", model, temperature));
      GenerateOptions options{{.temperature = temperature}, 12, 11};
      std::vector<std::vector<int32_t>> taken(prompts.size());
      auto take = [&](size_t prompt, int32_t token) {
        taken[prompt].push_back(token);
        return prompt != 1 || taken[prompt].size() < 5;
      };
      auto texts = generate_texts(several, prompts, options, take);
      EXPECT_EQ(texts, taken);
      for (size_t i = 0; i < prompts.size(); ++i) {
        auto want = generate(one, prompts[i], options);
        if (i == 1) want.resize(5);
        EXPECT_EQ(texts[i], want) << "prompt " << i;
        used.insert(want.begin(), want.end());
      }
    }
    EXPECT_GT(used.size(), 10u);
  }
}

// Logits of a text hardly depend on what the other places hold.
TEST_P(TokenDecoding, HasTheLogitsOfEachTextAlone) {
  TrainingState state = state_of(llama);
  Predictor alone = predictor(state, true);
  Predictor together(state, state, {.device = devices(1)[0], .batch = 3, .text = true});
  TextsPass one = alone.texts_pass();
  TextsPass several = together.texts_pass();
  std::vector<int32_t> a = prompt_of(17), b = prompt_of(5);
  for (size_t more : {0, 1, 2}) {
    std::array<std::span<const int32_t>, 3> seen = {
        std::span(a).first(11 + more), {}, std::span(b).first(3 + more)};
    auto rows = several.logits(seen);
    for (size_t place : {0, 2}) {
      one.begin(0);
      expect_near(rows.subspan(place * vocabulary, vocabulary), one.logits({&seen[place], 1}),
                  1e-3f);
    }
  }
}

// Where attention sees later tokens, and where positions are one vector, each token changes all.
TEST_P(TokenDecoding, LeavesModelsThatMixPositionsToTheWindow) {
  std::string all = layers;
  all.replace(all.find("true"), 4, "false");
  expect_same_texts(state_of(all));
  EXPECT_TRUE(is_decoded(gpt));
  EXPECT_TRUE(is_decoded(llama));
  EXPECT_TRUE(is_decoded(layers));
  EXPECT_FALSE(is_decoded(all));
  EXPECT_FALSE(is_decoded(R"(model:
  layers:
    - embedding: {vocabulary: classes, width: 2}
    - flatten
    - dense: {units: 740}
    - reshape: {shape: [20, 37]}
)"));
}

SPIRE_TEST_ON_EACH_KIND(TokenDecoding);

}  // namespace
}  // namespace spire
