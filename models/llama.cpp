// Llama: Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", 2023; with heads
// that share keys and values since Llama 2. A pre-norm decoder with RMS norms, rotary positions,
// swiglu and no biases. Its head has weights of its own, or shares the table of tokens. Matrices
// begin as N(0, 0.02), those at the end of a residual branch divided by the root of the number of
// branches.
#include <cmath>

#include "engine/base/fail.h"
#include "models/model.h"
#include "models/transformer.h"

namespace spire {
namespace {

constexpr double llama_deviation = 0.02;
constexpr float llama_epsilon = 1e-5f;

// Two thirds of the 4 C of an mlp without gates, as multiples of 32.
int64_t mlp_width_of(int64_t width) {
  return (8 * width / 3 + 31) / 32 * 32;
}

// Keys of a published size that no longer fit another width or number of heads do not apply.
TransformerSize llama_size(const ModelConfig& config) {
  TransformerSize size = transformer_size(config, "llama");
  if (config.width) size.mlp_width = mlp_width_of(size.width);
  if (config.heads) size.kv_heads = size.heads;
  size.mlp_width = config.mlp_width.value_or(size.mlp_width);
  size.kv_heads = config.kv_heads.value_or(size.kv_heads);
  if (size.heads % size.kv_heads != 0)
    fail(Category::config, "model.kv_heads: {} does not divide model.heads {}; use a divisor of it",
         size.kv_heads, size.heads);
  if (size.head_size() % 2 != 0)
    fail(Category::config,
         "model.heads: {} heads of a width of {} have {} columns, but rotary positions turn pairs "
         "of columns; use heads of an even number",
         size.heads, size.width, size.head_size());
  return size;
}

double theta_of(const ModelConfig& config, double own) {
  if (config.rope_theta == 0) return own;
  if (config.rope_theta > 1) return config.rope_theta;
  fail(Category::config,
       "model.rope_theta: {} is no base of angles; use a number larger than 1, or 0 for {}",
       config.rope_theta, own);
}

TransformerOptions llama_options(const ModelConfig& config, const TransformerSize& size) {
  double added = llama_deviation / std::sqrt(2.0 * static_cast<double>(size.blocks));
  return {.heads = size.heads,
          .kv_heads = size.kv_heads,
          .causal = true,
          .rope_theta = theta_of(config, size.rope_theta),
          .bias = false,
          .norm = TransformerOptions::Norm::rms_norm,
          .mlp = TransformerOptions::Mlp::swiglu,
          .mlp_width = size.mlp_width,
          .dropout = static_cast<float>(config.dropout),
          .epsilon = epsilon_of(config, llama_epsilon),
          .weights = [](int64_t, int64_t) { return init::normal(llama_deviation); },
          .projections = [added](int64_t, int64_t) { return init::normal(added); }};
}

}  // namespace

Value llama(Graph& graph, Value tokens, const ModelConfig& config, int64_t vocabulary) {
  TransformerSize size = llama_size(config);
  expect_context(config, graph.spec(tokens).shape.back());
  auto [x, table] = embedding(graph, "tokens", tokens, vocabulary, size.width,
                              graph.compute_dtype(), init::normal(llama_deviation));
  x = dropout(graph, x, static_cast<float>(config.dropout));
  TransformerOptions options = llama_options(config, size);
  options.positions = packed_positions(graph);
  for (int64_t i = 0; i < size.blocks; ++i)
    x = transformer_block(graph, fmt::format("block{}", i + 1), x, options);
  x = rms_norm(graph, "norm", x, options.epsilon);
  if (config.tied_head) return tied_dense(graph, table, x);
  return dense(graph, "head", x, vocabulary, false, init::normal(llama_deviation));
}

}  // namespace spire
