// Names of the two matrices that low-rank adaptation puts beside a dense layer's weight
// (models/adapters.h): layer.lora_a.weight and layer.lora_b.weight beside layer.weight.
#pragma once
#include <string>
#include <string_view>

namespace spire {

inline constexpr std::string_view weight_suffix = ".weight";
inline constexpr std::string_view lora_a = ".lora_a", lora_b = ".lora_b";

// Returns the layer of such a matrix: "layer" for "layer.lora_a.weight"; "" for other names.
inline std::string adapted_layer(const std::string& name) {
  for (std::string_view part : {lora_a, lora_b}) {
    size_t end = part.size() + weight_suffix.size();
    if (name.ends_with(weight_suffix) && name.size() >= end &&
        name.compare(name.size() - end, part.size(), part) == 0)
      return name.substr(0, name.size() - end);
  }
  return "";
}

}  // namespace spire
