// Writes a config as YAML, and the reference of all keys.
#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <spire/load_config.h>

#include "engine/config/schema.h"

namespace spire::inline config {

// Writes every key with its value, but those of `but`; parse_config() of it gives the same config.
std::string to_yaml(const RunConfig& config, const std::set<std::string>& but = {});

// Writes each line with the source of its value as a comment (--print-config).
std::string to_annotated_yaml(const ResolvedConfig& resolved);

// Writes single values on one line.
std::string yaml_word(const std::string& word);  // quoted where necessary to read back the same
std::string value_text(const Field& field, const RunConfig& config);  // "0.1", "[64, 32]", "null"
std::string layers_text(const std::vector<LayerConfig>& layers);  // "[{dense: {units: 9}}, relu]"

// Writes one layer a line after `indent` blanks; inner layers follow theirs.
std::string layers_block(const std::vector<LayerConfig>& layers, size_t indent);

std::string config_help();  // the reference of all keys, then that of the layers (--help-config)
std::string layer_help();   // each layer's keys, defaults, allowed values and meanings

}  // namespace spire::inline config
