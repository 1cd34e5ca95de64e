// Layers of a pre-norm transformer, for gpt, vit and model.layers.
#pragma once
#include <functional>
#include <string>

#include <spire/run_config.h>

#include "engine/graph/layers.h"

namespace spire::inline models {

using WeightInitializer = std::function<Initializer(int64_t inputs, int64_t outputs)>;

// Uniform in +-sqrt(6 / (inputs + outputs)) (Glorot, Bengio, 2010).
Initializer xavier_uniform(int64_t inputs, int64_t outputs);

struct TransformerOptions {
  int64_t heads = 1;       // divides the width
  bool causal = false;     // a position attends to itself and earlier ones only
  int64_t mlp_ratio = 4;   // width inside the mlp / width of the block
  bool gelu_tanh = false;  // gelu's tanh form
  float dropout = 0;       // of attention weights and of residual branches
  float epsilon = 1e-5f;   // of layer norms
  WeightInitializer weights = xavier_uniform;
  WeightInitializer projections = xavier_uniform;  // of the last layer of a residual branch
};

// Multi-head attention with layers name.qkv and name.project. x (N, T, C) -> (N, T, C)
Value self_attention(Graph& graph, const std::string& name, Value x,
                     const TransformerOptions& options);

// y = x + self_attention(norm(x)); returns y + mlp(norm(y)), (N, T, C). A block of
// memory.recompute.
Value transformer_block(Graph& graph, const std::string& name, Value x,
                        const TransformerOptions& options);

}  // namespace spire::inline models
