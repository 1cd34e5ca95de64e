// What a config.json beside a file of weights says of the computation, which no tensor shows: the
// number of heads, epsilons, activations.
#pragma once
#include <string>

#include "engine/graph/graph.h"
#include "engine/weights/names/name_table.h"

namespace spire::inline weights {

// Compares the config.json of Hugging Face's GPT-2, ViT or Llama with the model's graph. Missing
// keys mean transformers' defaults. text: its content; path: for messages. Throws Error(checkpoint)
// with the first key by which the two compute something else, and what to set.
void check_foreign_config(const std::string& text, const std::string& path, const Graph& graph);

}  // namespace spire::inline weights
