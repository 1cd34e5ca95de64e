// The layers of a model that the config spells out: plain structs. Which types there are, and the
// keys of each, stands in layer_types.cpp.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace spire {

// Sizes of height and width, {3} or {3, 5}, are lists of integers, too.
using LayerValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

struct LayerConfig {
  std::string type;                               // a name in layer_types()
  std::map<std::string, LayerValue> values = {};  // by key; what is missing has its default
  std::vector<LayerConfig> layers = {};           // of those that hold layers
  bool operator==(const LayerConfig&) const = default;
};

}  // namespace spire
