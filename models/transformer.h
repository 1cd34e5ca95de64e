// Building blocks of transformers. Pre-norm: each half of a block reads a layer norm of its
// input and is added to that input (Radford et al., "Language Models are Unsupervised Multitask
// Learners", 2019; Dosovitskiy et al., "An Image is Worth 16x16 Words", 2021).
#pragma once
#include <functional>
#include <string>

#include <spire/run_config.h>

#include "engine/graph/layers.h"

namespace spire::inline models {

// The initializer of a weight (outputs, inputs).
using WeightInitializer = std::function<Initializer(int64_t inputs, int64_t outputs)>;

// Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural networks",
// 2010: uniform in +-sqrt(6 / (inputs + outputs)).
Initializer xavier_uniform(int64_t inputs, int64_t outputs);

struct TransformerOptions {
  int64_t heads = 1;       // divides the width
  bool causal = false;     // a position attends to itself and earlier ones
  int64_t mlp_ratio = 4;   // width inside the dense layers, in widths
  bool gelu_tanh = false;  // gelu's tanh form
  float dropout = 0;       // of attention weights and of residual branches
  float epsilon = 1e-5f;   // of layer norms
  WeightInitializer weights = xavier_uniform;
  WeightInitializer projections = xavier_uniform;  // of the last layer of a residual branch
};

// Multi-head attention with layers name.qkv and name.project. x (N, T, C) -> (N, T, C).
Value self_attention(Graph& graph, const std::string& name, Value x,
                     const TransformerOptions& options);

// x + self_attention(norm(x)), then x + mlp(norm(x)); marked as a block for memory.recompute:
// blocks. x (N, T, C) -> (N, T, C)
Value transformer_block(Graph& graph, const std::string& name, Value x,
                        const TransformerOptions& options);

// Size of a gpt or vit: that of config.size, overridden by single keys of the config.
struct TransformerSize {
  int64_t blocks = 12, width = 768, heads = 12;
};
// sizes: by name; the first is that of "auto". Throws Error(config) for an unknown size, and for
// heads that do not divide the width.
TransformerSize transformer_size(const ModelConfig& config,
                                 const std::vector<std::pair<std::string, TransformerSize>>& sizes);

}  // namespace spire::inline models
