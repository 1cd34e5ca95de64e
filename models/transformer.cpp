#include "models/transformer.h"

#include <cmath>

#include <fmt/ranges.h>

namespace spire::inline models {

Initializer xavier_uniform(int64_t inputs, int64_t outputs) {
  return uniform(static_cast<float>(std::sqrt(6.0 / static_cast<double>(inputs + outputs))));
}

namespace {

Value mlp_half(Graph& graph, const std::string& name, Value x, const TransformerOptions& options) {
  int64_t width = graph.spec(x).shape.back(), inner = options.mlp_ratio * width;
  x = dense(graph, name + ".up", x, inner, true, options.weights(width, inner));
  x = options.gelu_tanh ? gelu_tanh(graph, x) : gelu(graph, x);
  return dense(graph, name + ".down", x, width, true, options.projections(inner, width));
}

}  // namespace

Value self_attention(Graph& graph, const std::string& name, Value x,
                     const TransformerOptions& options) {
  int64_t width = graph.spec(x).shape.back();
  // Queries, keys and values are three maps of width x width each.
  Value qkv = dense(graph, name + ".qkv", x, 3 * width, true, options.weights(width, width));
  Value y = attention(
      graph, qkv, {.heads = options.heads, .causal = options.causal, .dropout = options.dropout});
  return dense(graph, name + ".project", y, width, true, options.projections(width, width));
}

Value transformer_block(Graph& graph, const std::string& name, Value x,
                        const TransformerOptions& options) {
  Graph::Block block(graph, name);
  Value y = layer_norm(graph, name + ".norm1", x, options.epsilon);
  y = self_attention(graph, name + ".attention", y, options);
  x = add(graph, x, dropout(graph, y, options.dropout));
  y = layer_norm(graph, name + ".norm2", x, options.epsilon);
  y = mlp_half(graph, name + ".mlp", y, options);
  return add(graph, x, dropout(graph, y, options.dropout));
}

TransformerSize transformer_size(
    const ModelConfig& config, const std::vector<std::pair<std::string, TransformerSize>>& sizes) {
  std::vector<std::string> names;
  const TransformerSize* found = config.size == "auto" ? &sizes.front().second : nullptr;
  for (const auto& [name, size] : sizes) {
    names.push_back(name);
    if (name == config.size) found = &size;
  }
  if (found == nullptr) {
    fail(Category::config, "model.size: {} is not a size of a {}; use {}", config.size, config.name,
         fmt::join(names, ", "));
  }
  TransformerSize size{config.blocks.value_or(found->blocks), config.width.value_or(found->width),
                       config.heads.value_or(found->heads)};
  if (size.width % size.heads != 0) {
    fail(Category::config, "model.heads: {} does not divide model.width {}; use a divisor of it",
         size.heads, size.width);
  }
  return size;
}

}  // namespace spire::inline models
