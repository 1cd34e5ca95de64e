// The size of a transformer: a published one, and the config keys that override it.
#pragma once
#include <cstdint>
#include <string_view>

#include <spire/run_config.h>

#include "engine/config/transformer_sizes.h"

namespace spire::inline models {

// Returns the size of a family of engine/config/transformer_sizes.h that config.size names,
// overridden by single keys of the config. Throws Error(config) for an unknown size, and for heads
// that do not divide the width.
TransformerSize transformer_size(const ModelConfig& config, std::string_view family);

// Of norms: the config's, or the model's own.
float epsilon_of(const ModelConfig& config, float own);

// Throws Error(config) if rows of `length` tokens are longer than the model's context.
void expect_context(const ModelConfig& config, int64_t length);

}  // namespace spire::inline models
