// Layer of a model that is listed under model.layers in the config.
// engine/config/layer_types.cpp has the table of layer types and their keys.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace spire {

// Value of a key. A list of integers also stands for height and width: {3} or {3, 5}.
using LayerValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

struct LayerConfig {
  std::string type;                               // "conv2d": a name in the table of layer types
  std::map<std::string, LayerValue> values = {};  // key -> value; missing keys have their defaults
  std::vector<LayerConfig> layers = {};           // the layers inside a residual or repeat layer
  bool operator==(const LayerConfig&) const = default;
};

}  // namespace spire
