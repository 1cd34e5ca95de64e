// Schema of model.layers: one table of layer types and their keys, for reading, checks, the echo
// and
// --help-config. models/layers_model.cpp has a builder for each type.
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

namespace spire::inline config {

// Type of a key's value. extent: one integer, or two for height and width.
enum class LayerKind { boolean, integer, number, word, extent, integers };

struct LayerKey {
  std::string name = {};
  LayerKind kind = LayerKind::word;
  std::optional<LayerValue> fallback = {};  // the default; nullopt: the key is required
  std::string help = {};                    // one line
  Range range = {};                         // of numbers
  std::vector<std::string> words = {};      // kind word: all words; others: words allowed besides
};

struct LayerType {
  std::string name = {};
  std::string help = {};  // one line
  std::vector<LayerKey> keys = {};
  bool holds_layers = false;  // takes inner layers by the key `layers`
};

const std::vector<LayerType>& layer_types();
const LayerType* find_layer_type(std::string_view name);                  // null: none
const LayerKey* find_layer_key(const LayerType& type, std::string_view);  // null: none

// Returns a key's value, given or default. REQUIRES: a checked layer and a key of its type.
const LayerValue& layer_value(const LayerConfig& layer, std::string_view key);
template <typename T>
const T& layer_value(const LayerConfig& layer, std::string_view key) {
  return std::get<T>(layer_value(layer, key));
}

// Throws Error(config) for a wrong type, word or range.
void check_layer_value(const LayerKey& key, const LayerValue& value);

// Describes an unknown type, a missing key, or inner layers that are missing or not allowed; empty:
// no problem.
std::string layer_problem(const LayerConfig& layer);

// Checks layers and their inner ones. Throws Error(config) that begins with the layer's path.
void check_layers(const std::vector<LayerConfig>& layers, const std::string& path);

// Counts all layers, those of a `repeat` as often as they are built.
int64_t count_layers(const std::vector<LayerConfig>& layers);

// "model.layers", 3, "conv2d" -> "model.layers[3].conv2d"; without a type: "model.layers[3]".
std::string layer_path(std::string_view list, size_t index, std::string_view type = {});

inline constexpr int64_t max_layers = 10000;  // limit of count_layers()
inline constexpr int max_layer_depth = 16;    // levels of nested lists

}  // namespace spire::inline config
