#include "models/transformer.h"

#include <cmath>
#include <span>
#include <vector>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "models/model.h"

namespace spire {
namespace {

using Norm = TransformerOptions::Norm;
using Mlp = TransformerOptions::Mlp;

Value norm_of(Graph& graph, const std::string& name, Value x, const TransformerOptions& options) {
  return options.norm == Norm::rms_norm ? rms_norm(graph, name, x, options.epsilon)
                                        : layer_norm(graph, name, x, options.epsilon);
}

// The hidden layer of the mlp. The gates and the values of swiglu are one dense layer.
Value mlp_hidden(Graph& graph, const std::string& name, Value x,
                 const TransformerOptions& options) {
  int64_t width = graph.spec(x).shape.back();
  int64_t inner = options.mlp_width > 0 ? options.mlp_width : options.mlp_ratio * width;
  Initializer initialize = options.weights(width, inner);
  if (options.mlp == Mlp::swiglu)
    return swiglu(graph, dense(graph, name + ".gate_up", x, 2 * inner, options.bias, initialize));
  x = dense(graph, name + ".up", x, inner, options.bias, initialize);
  return options.mlp == Mlp::gelu_tanh ? gelu_tanh(graph, x) : gelu(graph, x);
}

// The second half of a block: dense, gelu or swiglu, dense. x (N, T, C) -> (N, T, C)
Value mlp_half(Graph& graph, const std::string& name, Value x, const TransformerOptions& options) {
  int64_t width = graph.spec(x).shape.back();
  x = mlp_hidden(graph, name, x, options);
  int64_t inner = graph.spec(x).shape.back();
  return dense(graph, name + ".down", x, width, options.bias, options.projections(inner, width));
}

}  // namespace

Initializer xavier_uniform(int64_t inputs, int64_t outputs) {
  return init::uniform(static_cast<float>(std::sqrt(6.0 / static_cast<double>(inputs + outputs))));
}

Value self_attention(Graph& graph, const std::string& name, Value x,
                     const TransformerOptions& options) {
  int64_t width = graph.spec(x).shape.back(), heads = options.heads;
  int64_t kv_heads = options.kv_heads > 0 ? options.kv_heads : heads;
  int64_t columns = width + 2 * (width * kv_heads / heads);
  // Queries, keys and values are three maps; with as many heads all are width x width.
  Value qkv = dense(graph, name + ".qkv", x, columns, options.bias, options.weights(width, width));
  if (options.rope_theta > 0)
    qkv = rope(graph, qkv,
               {.heads = heads + kv_heads,
                .size = width / heads,
                .theta = options.rope_theta,
                .positions = options.positions});
  Value y = attention(graph, qkv,
                      {.heads = heads,
                       .causal = options.causal,
                       .dropout = options.dropout,
                       .kv_heads = options.kv_heads,
                       .positions = options.positions});
  return dense(graph, name + ".project", y, width, options.bias, options.projections(width, width));
}

Value transformer_block(Graph& graph, const std::string& name, Value x,
                        const TransformerOptions& options) {
  Graph::Block block(graph, name);
  Value y = norm_of(graph, name + ".norm1", x, options);
  y = self_attention(graph, name + ".attention", y, options);
  x = add(graph, x, dropout(graph, y, options.dropout));
  y = norm_of(graph, name + ".norm2", x, options);
  y = mlp_half(graph, name + ".mlp", y, options);
  return add(graph, x, dropout(graph, y, options.dropout));
}

namespace {

constexpr double gpt_deviation = 0.02;
constexpr float gpt_norm_epsilon = 1e-5f;

TransformerOptions gpt_options(const ModelConfig& config, const TransformerSize& size) {
  double added = gpt_deviation / std::sqrt(2.0 * static_cast<double>(size.blocks));
  return {.heads = size.heads,
          .causal = true,
          .mlp = Mlp::gelu_tanh,
          .dropout = static_cast<float>(config.dropout),
          .epsilon = epsilon_of(config, gpt_norm_epsilon),
          .weights = [](int64_t, int64_t) { return init::normal(gpt_deviation); },
          .projections = [added](int64_t, int64_t) { return init::normal(added); }};
}

}  // namespace

// GPT-2: Radford, Wu, Child, Luan, Amodei, Sutskever, "Language Models are Unsupervised Multitask
// Learners", 2019. Learned positions, pre-norm blocks with gelu's tanh form, a last layer norm, and
// a head that shares its weights with the table of tokens. All weights begin as N(0, 0.02), those
// at the end of a residual branch divided by the root of the number of branches.
Value gpt(Graph& graph, Value tokens, const ModelConfig& config, int64_t vocabulary) {
  TransformerSize size = transformer_size(config, "gpt");
  int64_t length = graph.spec(tokens).shape.back(), context = config.context.value_or(length);
  expect_context(config, length);
  auto [x, table] = embedding(graph, "tokens", tokens, vocabulary, size.width,
                              graph.compute_dtype(), init::normal(gpt_deviation));
  Value at = packed_positions(graph);
  x = at ? position_embedding(graph, "positions", x, at, init::normal(gpt_deviation), context)
         : position_embedding(graph, "positions", x, init::normal(gpt_deviation), context);
  x = dropout(graph, x, static_cast<float>(config.dropout));
  TransformerOptions options = gpt_options(config, size);
  options.positions = at;
  for (int64_t i = 0; i < size.blocks; ++i)
    x = transformer_block(graph, fmt::format("block{}", i + 1), x, options);
  return tied_dense(graph, table, layer_norm(graph, "norm", x, options.epsilon));
}

namespace {

constexpr float vit_norm_epsilon = 1e-6f;

// images (N, H, W, C) -> (N, H / patch * W / patch, width)
Value patches(Graph& graph, Value images, int64_t patch, int64_t width) {
  const Shape& shape = graph.spec(images).shape;
  if (shape.rank() != 4 || shape[1] % patch != 0 || shape[2] % patch != 0) {
    fail(Category::config,
         "model.patch: {} does not divide the height and width of the data's images {}; use a "
         "divisor of both",
         patch, to_string(Shape(shape.dims().subspan(1))));
  }
  auto inputs = static_cast<double>(patch * patch * shape[3]);
  Value x = conv2d(graph, "patches", images,
                   {.channels = width,
                    .kernel = {patch, patch},
                    .stride = {patch, patch},
                    .initialize = init::normal(1.0 / std::sqrt(inputs))});
  const Shape& grid = graph.spec(x).shape;
  return reshape(graph, x, {grid[0], grid[1] * grid[2], width});
}

Value with_class_token(Graph& graph, Value x) {
  const TensorSpec spec = graph.spec(x);
  Value token = graph.parameter("class_token.weight", {1, spec.shape[2]}, init::constant(0));
  return concat(graph, {expand(graph, token, spec.shape[0], spec.dtype), x}, 1);
}

}  // namespace

// Vision transformer: Dosovitskiy et al., "An Image is Worth 16x16 Words", 2021. One linear map
// turns square patches of the image into tokens; a learned class token goes first, and the head
// reads it after the last layer norm. Learned positions, pre-norm blocks, exact gelu. The head
// begins at 0, the patches' map as N(0, 1 / inputs), other matrices as Xavier's uniform.
Value vit(Graph& graph, Value images, const ModelConfig& config, int64_t classes) {
  TransformerSize size = transformer_size(config, "vit");
  auto rate = static_cast<float>(config.dropout);
  Value x = with_class_token(graph, patches(graph, images, config.patch, size.width));
  x = position_embedding(graph, "positions", x, init::normal(0.02));
  x = dropout(graph, x, rate);
  TransformerOptions options{
      .heads = size.heads, .dropout = rate, .epsilon = epsilon_of(config, vit_norm_epsilon)};
  for (int64_t i = 0; i < size.blocks; ++i)
    x = transformer_block(graph, fmt::format("block{}", i + 1), x, options);
  // The norm is of each token apart from the others, so that only the class token needs it.
  x = reshape(graph, slice(graph, x, 1, 0, 1), {graph.spec(x).shape[0], size.width});
  x = layer_norm(graph, "norm", x, options.epsilon);
  return dense(graph, "head", x, classes, true, init::constant(0));
}

TransformerSize transformer_size(const ModelConfig& config, std::string_view family) {
  std::span<const NamedSize> sizes = find_transformer_family(family)->sizes;
  std::vector<std::string_view> names;
  const TransformerSize* found = config.size == "auto" ? &sizes.front().size : nullptr;
  for (const NamedSize& each : sizes) {
    names.push_back(each.name);
    if (each.name == config.size) found = &each.size;
  }
  if (found == nullptr) {
    fail(Category::config, "model.size: {} is not a size of a {}; use {}", config.size, family,
         fmt::join(names, ", "));
  }
  TransformerSize size = *found;
  size.blocks = config.blocks.value_or(size.blocks);
  size.width = config.width.value_or(size.width);
  size.heads = config.heads.value_or(size.heads);
  if (size.width % size.heads != 0) {
    fail(Category::config, "model.heads: {} does not divide model.width {}; use a divisor of it",
         size.heads, size.width);
  }
  return size;
}

float epsilon_of(const ModelConfig& config, float own) {
  return config.epsilon > 0 ? static_cast<float>(config.epsilon) : own;
}

void expect_context(const ModelConfig& config, int64_t length) {
  int64_t context = config.context.value_or(length);
  if (length <= context) return;
  fail(Category::config,
       "model.context: {} is less than the {} tokens of the data's rows; use at least that",
       context, length);
}

}  // namespace spire
