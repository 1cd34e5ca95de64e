// Writes a config as YAML, and the help text of all keys.
#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <spire/load_config.h>

#include "engine/config/schema.h"

namespace spire::inline config {

// Returns the config as YAML, without the keys in `but` and without unused keys that have their
// defaults. If `but` is empty, parse_config() of the text gives the same config.
std::string to_yaml(const RunConfig& config, const std::set<std::string>& but = {});

// Returns the same with the source of each value as a comment (--print-config).
std::string to_annotated_yaml(const ResolvedConfig& resolved);

// Return a value on one line.
std::string yaml_word(const std::string& word);  // in quotes if YAML needs them
std::string value_text(const Field& field, const RunConfig& config);  // "0.1", "[64, 32]", "null"
std::string layers_text(const std::vector<LayerConfig>& layers);  // "[{dense: {units: 9}}, relu]"

// Returns one line per layer, after `indent` blanks. The layers inside a layer follow its line.
std::string layers_block(const std::vector<LayerConfig>& layers, size_t indent);

std::string config_help();  // help on all keys, then layer_help() (--help-config)
std::string layer_help();   // each layer's keys, defaults, allowed values and meanings

}  // namespace spire::inline config
