// A config as text again, for people and for the run directory.
#pragma once
#include <spire/load_config.h>

#include "engine/config/schema.h"

namespace spire::inline config {

// Every key with its value; parse_config of it gives the same config. `but`: keys that are left
// out.
std::string to_yaml(const RunConfig& config, const std::set<std::string>& but = {});

// The same with a comment on each line that says where the value came from: --print-config.
std::string to_annotated_yaml(const ResolvedConfig& resolved);

// A word as a YAML scalar that reads back as the same word, quoted where it must be.
std::string yaml_word(const std::string& word);

// A field's value as one line of YAML: "0.1", "[64, 32]", "null".
std::string value_text(const Field& field, const RunConfig& config);

// In one line: "[{conv2d: {channels: 32}}, relu]".
std::string layers_text(const std::vector<LayerConfig>& layers);

// One layer a line, each line indented by `indent` spaces and ended; lists inside lists below them.
std::string layers_block(const std::vector<LayerConfig>& layers, size_t indent);

// Every layer with its keys: defaults, what is allowed, one line of help each.
std::string layer_help();

std::string config_help();

}  // namespace spire::inline config
