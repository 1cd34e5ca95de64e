// Tensor to write to a file of weights, read from its source in parts.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <spire/shape.h>

namespace spire::inline weights {

struct TensorToWrite {
  std::string name;
  Shape shape;
  // Copies elements [begin, begin + out.size()), row-major. Parts are asked for in order.
  std::function<void(int64_t begin, std::span<float> out)> read;
};

}  // namespace spire::inline weights
