// Layers of a model that the config spells out. engine/config/layer_types.cpp lists the types and
// their keys.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace spire {

// A size of height and width, {3} or {3, 5}, is a list of integers.
using LayerValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

struct LayerConfig {
  std::string type;                               // a name in layer_types()
  std::map<std::string, LayerValue> values = {};  // by key; missing keys have their defaults
  std::vector<LayerConfig> layers = {};           // inner layers, of residual and repeat
  bool operator==(const LayerConfig&) const = default;
};

}  // namespace spire
