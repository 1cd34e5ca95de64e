// Names of the two matrices that low-rank adaptation puts beside a dense layer's weight
// (models/adapters.h): layer.lora_a.weight and layer.lora_b.weight beside layer.weight.
#pragma once
#include <string>
#include <string_view>

namespace spire {

inline constexpr std::string_view weight_suffix = ".weight";
inline constexpr std::string_view lora_a = ".lora_a", lora_b = ".lora_b";

// Returns the layer that such a matrix adapts; "" for other names.
inline std::string adapted_layer(const std::string& name) {
  for (std::string_view part : {lora_a, lora_b}) {
    std::string end = std::string(part) + std::string(weight_suffix);
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
  }
  return "";
}

}  // namespace spire
