// Writes values and layers of a config as YAML. <spire/load_config.h> has what programs need: whole
// configs and the help on all keys.
#pragma once
#include <string>
#include <vector>

#include <spire/load_config.h>

#include "engine/config/schema.h"

namespace spire {

// Return a value on one line.
std::string value_text(const Field& field, const RunConfig& config);  // "0.1", "[64, 32]", "null"
std::string layers_text(const std::vector<LayerConfig>& layers);  // "[{dense: {units: 9}}, relu]"

// Returns the value of a top-level key in YAML that may also have keys unknown to this program; ""
// if the key is missing or its value is no word or number.
std::string top_level_value(const std::string& yaml, const std::string& key);

}  // namespace spire
