#include "models/transformer.h"

#include <cmath>

#include <fmt/ranges.h>

#include "models/model.h"

namespace spire::inline models {
namespace {

// The second half of a block: dense, gelu, dense. x (N, T, C) -> (N, T, C)
Value mlp_half(Graph& graph, const std::string& name, Value x, const TransformerOptions& options) {
  int64_t width = graph.spec(x).shape.back(), inner = options.mlp_ratio * width;
  x = dense(graph, name + ".up", x, inner, true, options.weights(width, inner));
  x = options.gelu_tanh ? gelu_tanh(graph, x) : gelu(graph, x);
  return dense(graph, name + ".down", x, width, true, options.projections(inner, width));
}

}  // namespace

Initializer xavier_uniform(int64_t inputs, int64_t outputs) {
  return uniform(static_cast<float>(std::sqrt(6.0 / static_cast<double>(inputs + outputs))));
}

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

namespace {

// Size of a model: that of config.size, overridden by single keys of the config.
struct TransformerSize {
  int64_t blocks = 12, width = 768, heads = 12;
};

// sizes: by name; the first is that of "auto". Throws Error(config) for an unknown size, and for
// heads that do not divide the width.
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

// Of layer norms: the config's, or the model's own.
float epsilon_of(const ModelConfig& config, float own) {
  return config.epsilon > 0 ? static_cast<float>(config.epsilon) : own;
}

constexpr double gpt_deviation = 0.02;
constexpr float gpt_norm_epsilon = 1e-5f;

TransformerSize gpt_size(const ModelConfig& config) {
  return transformer_size(config, {{"gpt2", {12, 768, 12}},
                                   {"gpt2_medium", {24, 1024, 16}},
                                   {"gpt2_large", {36, 1280, 20}},
                                   {"gpt2_xl", {48, 1600, 25}}});
}

TransformerOptions gpt_options(const ModelConfig& config, const TransformerSize& size) {
  double added = gpt_deviation / std::sqrt(2.0 * static_cast<double>(size.blocks));
  return {.heads = size.heads,
          .causal = true,
          .gelu_tanh = true,
          .dropout = static_cast<float>(config.dropout),
          .epsilon = epsilon_of(config, gpt_norm_epsilon),
          .weights = [](int64_t, int64_t) { return normal(gpt_deviation); },
          .projections = [added](int64_t, int64_t) { return normal(added); }};
}

}  // namespace

// GPT-2: Radford, Wu, Child, Luan, Amodei, Sutskever, "Language Models are Unsupervised Multitask
// Learners", 2019. Learned positions, pre-norm blocks with gelu's tanh form, a last layer norm, and
// a head that shares its weights with the table of tokens. All weights begin as N(0, 0.02), those
// at the end of a residual branch divided by the root of the number of branches.
Value gpt(Graph& graph, Value tokens, const ModelConfig& config, int64_t vocabulary) {
  TransformerSize size = gpt_size(config);
  int64_t length = graph.spec(tokens).shape.back(), context = config.context.value_or(length);
  if (length > context) {
    fail(Category::config,
         "model.context: {} is less than the {} tokens of the data's rows; use at least that",
         context, length);
  }
  auto [x, table] = embedding(graph, "tokens", tokens, vocabulary, size.width,
                              graph.compute_dtype(), normal(gpt_deviation));
  x = position_embedding(graph, "positions", x, normal(gpt_deviation), context);
  x = dropout(graph, x, static_cast<float>(config.dropout));
  TransformerOptions options = gpt_options(config, size);
  for (int64_t i = 0; i < size.blocks; ++i)
    x = transformer_block(graph, fmt::format("block{}", i + 1), x, options);
  return tied_dense(graph, table, layer_norm(graph, "norm", x, options.epsilon));
}

namespace {

constexpr float vit_norm_epsilon = 1e-6f;

TransformerSize vit_size(const ModelConfig& config) {
  return transformer_size(
      config, {{"tiny", {12, 192, 3}}, {"small", {12, 384, 6}}, {"base", {12, 768, 12}}});
}

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
                    .initialize = normal(1.0 / std::sqrt(inputs))});
  const Shape& grid = graph.spec(x).shape;
  return reshape(graph, x, {grid[0], grid[1] * grid[2], width});
}

Value with_class_token(Graph& graph, Value x) {
  const TensorSpec spec = graph.spec(x);
  Value token = graph.parameter("class_token.weight", {1, spec.shape[2]}, constant(0));
  return concat(graph, {expand(graph, token, spec.shape[0], spec.dtype), x}, 1);
}

}  // namespace

// Vision transformer: Dosovitskiy et al., "An Image is Worth 16x16 Words", 2021. One linear map
// turns square patches of the image into tokens; a learned class token goes first, and the head
// reads it after the last layer norm. Learned positions, pre-norm blocks, exact gelu. The head
// begins at 0, the patches' map as N(0, 1 / inputs), other matrices as Xavier's uniform.
Value vit(Graph& graph, Value images, const ModelConfig& config, int64_t classes) {
  TransformerSize size = vit_size(config);
  auto rate = static_cast<float>(config.dropout);
  Value x = with_class_token(graph, patches(graph, images, config.patch, size.width));
  x = position_embedding(graph, "positions", x, normal(0.02));
  x = dropout(graph, x, rate);
  TransformerOptions options{
      .heads = size.heads, .dropout = rate, .epsilon = epsilon_of(config, vit_norm_epsilon)};
  for (int64_t i = 0; i < size.blocks; ++i)
    x = transformer_block(graph, fmt::format("block{}", i + 1), x, options);
  // The norm is of each token apart from the others, so that only the class token needs it.
  x = reshape(graph, slice(graph, x, 1, 0, 1), {graph.spec(x).shape[0], size.width});
  x = layer_norm(graph, "norm", x, options.epsilon);
  return dense(graph, "head", x, classes, true, constant(0));
}

}  // namespace spire::inline models
