// Builds a layer of model.layers that contains no other layers; engine/config/layer_types.cpp lists
// the types of layers.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <spire/layers.h>

#include "engine/config/layer_types.h"
#include "models/transformer.h"

namespace spire {

// A layer to build, with its inputs and typed access to its keys.
struct LayerBuild {
  Graph& graph;
  const LayerConfig& layer;
  std::string name;
  std::vector<Value> inputs;  // one, or those that a concat or an add joins
  bool sync;                  // of batch norm
  int64_t classes;            // the number that `units: classes` means

  Value x() const { return inputs.front(); }
  const TensorSpec& spec() const { return graph.spec(x()); }
  bool flag(const char* key) const { return layer_value<bool>(layer, key); }
  int64_t whole(const char* key) const { return layer_value<int64_t>(layer, key); }
  float real(const char* key) const { return static_cast<float>(layer_value<double>(layer, key)); }
  const std::string& word(const char* key) const { return layer_value<std::string>(layer, key); }
  bool is_word(const char* key) const {
    return std::holds_alternative<std::string>(layer_value(layer, key));
  }
  Extent2d extent(const char* key) const {
    const auto& list = layer_value<std::vector<int64_t>>(layer, key);
    return {list.front(), list.back()};
  }
  int64_t count(const char* key) const { return is_word(key) ? classes : whole(key); }

  // fan_in: inputs of one output. fan_out: outputs of one input.
  Initializer initializer(int64_t fan_in, int64_t fan_out) const {
    const std::string& kind = word("init");
    if (kind == "kaiming_normal") return init::kaiming_normal(fan_out);
    if (kind == "linear_uniform") return init::linear_uniform(fan_in);
    return kind == "normal" ? init::normal(0.02) : init::kaiming_uniform(fan_in);
  }
  TransformerOptions transformer() const {
    return {.heads = whole("heads"),
            .kv_heads = whole("kv_heads"),
            .causal = flag("causal"),
            .rope_theta = layer_value<double>(layer, "rope_theta"),
            .bias = flag("bias"),
            .dropout = real("dropout")};
  }
};

// Returns the layer's output. Throws Error(config) for keys and shapes that do not fit.
Value build_layer(const LayerBuild& build);

}  // namespace spire
