// Writes a config as text: YAML for the run directory, comments for --print-config, and the
// reference of all keys for --help-config.
#pragma once
#include <spire/load_config.h>

#include "engine/config/schema.h"

namespace spire::inline config {

// Writes every key with its value; parse_config() of it gives the same config. `but`: keys to leave
// out.
std::string to_yaml(const RunConfig& config, const std::set<std::string>& but = {});

// The same with a comment on each line: the source of the value (--print-config).
std::string to_annotated_yaml(const ResolvedConfig& resolved);

// A word as a YAML scalar that reads back as the same word, quoted where necessary.
std::string yaml_word(const std::string& word);

// A field's value as one line of YAML: "0.1", "[64, 32]", "null".
std::string value_text(const Field& field, const RunConfig& config);

// In one line: "[{conv2d: {channels: 32}}, relu]".
std::string layers_text(const std::vector<LayerConfig>& layers);

// One layer a line, each indented by `indent` spaces and ended; inner lists follow their layer.
std::string layers_block(const std::vector<LayerConfig>& layers, size_t indent);

// The reference of all layers: keys, defaults, allowed values, one line of help each.
std::string layer_help();

// The reference of all keys: type, default, range and meaning, then the layers (--help-config).
std::string config_help();

}  // namespace spire::inline config
