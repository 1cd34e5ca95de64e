// Sizes of transformers, as published ones have them, and the config keys that override them.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <spire/run_config.h>

namespace spire::inline models {

struct TransformerSize {
  int64_t blocks = 12, width = 768, heads = 12;
  int64_t kv_heads = 0;       // heads of keys and values; 0: as many as heads
  int64_t mlp_width = 0;      // of the hidden layer; 0: by the model's own ratio
  double rope_theta = 10000;  // base of rotary positions, in models that have them

  int64_t head_size() const { return width / heads; }
};

// Returns the size that config.size names, overridden by single keys of the config. sizes: by name;
// the first is that of "auto". Throws Error(config) for an unknown size, and for heads that do not
// divide the width.
TransformerSize transformer_size(const ModelConfig& config,
                                 const std::vector<std::pair<std::string, TransformerSize>>& sizes);

// Of norms: the config's, or the model's own.
float epsilon_of(const ModelConfig& config, float own);

// Throws Error(config) if rows of `length` tokens are longer than the model's context.
void expect_context(const ModelConfig& config, int64_t length);

}  // namespace spire::inline models
