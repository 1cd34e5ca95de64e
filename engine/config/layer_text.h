// Layers as YAML, and the list of layer types.
#pragma once
#include "engine/config/layer_types.h"

namespace spire::inline config {

// In one line: "[{conv2d: {channels: 32}}, relu]".
std::string layers_text(const std::vector<LayerConfig>& layers);

// One layer a line, each line indented by `indent` spaces and ended; lists inside lists below them.
std::string layers_block(const std::vector<LayerConfig>& layers, size_t indent);

// Every layer with its keys: defaults, what is allowed, one line of help each.
std::string layer_help();

}  // namespace spire::inline config
