// Schema of model.layers: one table of layer types and their keys. Reading, checks, --help-config
// and a run's config.yaml use it. models/layers_model.cpp has a builder for each type.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <spire/layer_config.h>

#include "engine/config/schema.h"

namespace spire {

// Type of a key's value. extent: height and width, as two integers or one for both. name, names:
// names of layers, which a LayerValue holds as one text: "stem", "stem, left".
enum class LayerKind { boolean, integer, number, word, extent, integers, name, names };

struct LayerKey {
  std::string name = {};
  LayerKind kind = LayerKind::word;
  std::optional<LayerValue> fallback = {};  // default value; nullopt if the key is required
  std::string help = {};                    // one line
  Range range = {};                         // allowed numbers
  std::vector<std::string> words = {};      // allowed words; other kinds: allowed besides values
  bool is_main = false;                     // what the short form sets: conv2d: 32
};

struct LayerType {
  std::string name = {};
  std::string help = {};  // one line
  std::vector<LayerKey> keys = {};
  bool holds_layers = false;  // has a key `layers` with the layers inside it
};

const std::vector<LayerType>& layer_types();
// Keys that every type has besides its own: name and from, by which layers are linked.
const std::vector<LayerKey>& link_keys();
const LayerKey* main_key(const LayerType& type);  // null if the type has no short form
// Return null if there is none.
const LayerType* find_layer_type(std::string_view name);
const LayerKey* find_layer_key(const LayerType& type, std::string_view);  // link_keys(), too

// Returns the value of a key, or its default. REQUIRES: a layer that check_layers() accepts.
const LayerValue& layer_value(const LayerConfig& layer, std::string_view key);
template <typename T>
const T& layer_value(const LayerConfig& layer, std::string_view key) {
  return std::get<T>(layer_value(layer, key));
}

// Returns the names in a value of kind `names`: "stem, left" has two.
std::vector<std::string> names_in(std::string_view text);

// Words of the key `from` that name no layer: previous_link means the output of the layer before,
// input_link the input of the list of layers.
inline constexpr std::string_view previous_link = "previous", input_link = "input";

// Throws Error(config) for a wrong type, word or range.
void check_layer_value(const LayerKey& key, const LayerValue& value);

// Describes an unknown type, a missing key, or `layers` that are missing or not allowed; else "".
std::string layer_problem(const LayerConfig& layer);

// Checks layers, nested ones included. Throws Error(config) that begins with the layer's path.
void check_layers(const std::vector<LayerConfig>& layers, const std::string& path);

// Counts all layers; layers inside a `repeat` count once per repetition.
int64_t count_layers(const std::vector<LayerConfig>& layers);

// "model.layers", 3, "conv2d" -> "model.layers[3].conv2d"; without a type: "model.layers[3]".
std::string layer_path(std::string_view list, size_t index, std::string_view type = {});

inline constexpr int64_t max_layers = 10000;  // largest count_layers() of a model
inline constexpr int max_layer_depth = 16;    // levels of nested lists

}  // namespace spire
