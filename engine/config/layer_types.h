// The one table of layers that model.layers may list. Reading, checks, the echo and --help-config
// are made from it; models/layers_model.cpp has a builder for each.
#pragma once
#include <spire/layer_config.h>

#include "engine/config/schema.h"

namespace spire::inline config {

// What a key's value is. `extent` is one integer, or two: of height and of width.
enum class LayerKind { boolean, integer, number, word, extent, integers };

struct LayerKey {
  std::string name = {};
  LayerKind kind = LayerKind::word;
  std::optional<LayerValue> fallback = {};  // when it is not given; none: it must be
  std::string help = {};                    // one line
  Range range = {};                         // of numbers
  std::vector<std::string> words = {};      // kind word: all; other kinds: allowed beside them
};

struct LayerType {
  std::string name = {};
  std::string help = {};  // one line
  std::vector<LayerKey> keys = {};
  bool holds_layers = false;  // has the key `layers`, too
};

const std::vector<LayerType>& layer_types();
const LayerType* find_layer_type(std::string_view name);                  // null: none
const LayerKey* find_layer_key(const LayerType& type, std::string_view);  // null: none

// The value of a key of the layer's type: given, or its default. Engine code asks only for keys
// that the table has, and only checked layers.
const LayerValue& layer_value(const LayerConfig& layer, std::string_view key);
template <typename T>
const T& layer_value(const LayerConfig& layer, std::string_view key) {
  return std::get<T>(layer_value(layer, key));
}

// Throws Error(config), without a place, for a value of the wrong kind, word or range.
void check_layer_value(const LayerKey& key, const LayerValue& value);

// A problem with the whole of a layer: an unknown type, a key that must be given, layers missing
// where they belong or present where they do not. Empty when there is none.
std::string layer_problem(const LayerConfig& layer);

// All of it, and of the layers inside; messages begin with the layer's path. Throws Error(config).
void check_layers(const std::vector<LayerConfig>& layers, const std::string& path);

// Layers in all, those of a `repeat` counted as often as they are built.
int64_t count_layers(const std::vector<LayerConfig>& layers);

// "model.layers", 3 -> "model.layers[3]"; with a type: "model.layers[3].conv2d".
std::string layer_path(std::string_view list, size_t index, std::string_view type = {});

inline constexpr int64_t kMostLayers = 10000;  // of count_layers
inline constexpr int kDeepestLayers = 16;      // lists inside lists

}  // namespace spire::inline config
