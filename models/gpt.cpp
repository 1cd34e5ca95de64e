// GPT-2: Radford, Wu, Child, Luan, Amodei, Sutskever, "Language Models are Unsupervised Multitask
// Learners", 2019. Learned positions, pre-norm blocks with gelu's tanh form, a last layer norm, and
// a head whose weights are the table of tokens. All weights begin as N(0, 0.02), those at the
// end of a residual branch divided by the root of the number of branches.
#include <cmath>

#include "models/model.h"
#include "models/transformer.h"

namespace spire::inline models {
namespace {

constexpr double deviation = 0.02;

TransformerSize gpt_size(const ModelConfig& config) {
  return transformer_size(config, {{"gpt2", {12, 768, 12}},
                                   {"gpt2_medium", {24, 1024, 16}},
                                   {"gpt2_large", {36, 1280, 20}},
                                   {"gpt2_xl", {48, 1600, 25}}});
}

TransformerOptions block_options(const ModelConfig& config, const TransformerSize& size) {
  double added = deviation / std::sqrt(2.0 * static_cast<double>(size.blocks));
  return {.heads = size.heads,
          .causal = true,
          .gelu_tanh = true,
          .dropout = static_cast<float>(config.dropout),
          .weights = [](int64_t, int64_t) { return normal(deviation); },
          .projections = [added](int64_t, int64_t) { return normal(added); }};
}

}  // namespace

Value gpt(Graph& graph, Value tokens, const ModelConfig& config, int64_t vocabulary) {
  TransformerSize size = gpt_size(config);
  int64_t length = graph.spec(tokens).shape.back(), context = config.context.value_or(length);
  if (length > context) {
    fail(Category::config,
         "model.context: {} is less than the {} tokens of the data's rows; use at least that",
         context, length);
  }
  auto [x, table] = embedding(graph, "tokens", tokens, vocabulary, size.width,
                              graph.compute_dtype(), normal(deviation));
  x = position_embedding(graph, "positions", x, normal(deviation), context);
  x = dropout(graph, x, static_cast<float>(config.dropout));
  TransformerOptions options = block_options(config, size);
  for (int64_t i = 0; i < size.blocks; ++i)
    x = transformer_block(graph, fmt::format("block{}", i + 1), x, options);
  return tied_dense(graph, table, layer_norm(graph, "norm", x));
}

}  // namespace spire::inline models
