// Layers of a pre-norm transformer, for gpt, llama, vit and model.layers; and the sizes of such
// models: published ones, which single config keys override.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include <spire/layers.h>
#include <spire/run_config.h>

#include "engine/config/transformer_sizes.h"

namespace spire {

using WeightInitializer = std::function<Initializer(int64_t inputs, int64_t outputs)>;

// Uniform in +-sqrt(6 / (inputs + outputs)) (Glorot, Bengio, 2010).
Initializer xavier_uniform(int64_t inputs, int64_t outputs);

struct TransformerOptions {
  enum class Norm { layer_norm, rms_norm };
  enum class Mlp { gelu, gelu_tanh, swiglu };

  int64_t heads = 1;      // number of heads; divides the width C
  int64_t kv_heads = 0;   // heads of keys and values, divides `heads`; 0: as many
  bool causal = false;    // a position attends only to itself and earlier ones
  double rope_theta = 0;  // base of rotary positions of queries and keys; 0: none
  Value positions = {};   // of packed documents (AttentionOptions); none: a row is one text
  bool bias = true;       // of dense layers
  Norm norm = Norm::layer_norm;
  Mlp mlp = Mlp::gelu;    // gelu_tanh: gelu by its tanh approximation
  int64_t mlp_ratio = 4;  // width of the mlp's hidden layer / C
  int64_t mlp_width = 0;  // that width itself; 0: mlp_ratio C
  float dropout = 0;      // rate, for attention weights and residual branches
  float epsilon = 1e-5f;  // added to the variance in norms
  WeightInitializer weights = xavier_uniform;
  WeightInitializer projections = xavier_uniform;  // for the last layer of each branch
};

// Multi-head attention by the layers name.qkv and name.project. x (N, T, C) -> (N, T, C).
Value self_attention(Graph& graph, const std::string& name, Value x,
                     const TransformerOptions& options);

// Returns y + mlp(norm(y)) for y = x + self_attention(norm(x)): one block, which memory.recompute
// may compute again in the backward.
Value transformer_block(Graph& graph, const std::string& name, Value x,
                        const TransformerOptions& options);

// Returns the size that config.size names in a family of engine/config/transformer_sizes.h,
// overridden by single keys of the config. Throws Error(config) for an unknown size, and for heads
// that do not divide the width.
TransformerSize transformer_size(const ModelConfig& config, std::string_view family);

// Returns the epsilon of norms: the config's if it is set, else `own`.
float epsilon_of(const ModelConfig& config, float own);

// Throws Error(config) if rows of `length` tokens are longer than the model's context.
void expect_context(const ModelConfig& config, int64_t length);

}  // namespace spire
