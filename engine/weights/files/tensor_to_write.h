// Tensor to write to a file of weights, read from its source in parts.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <spire/tensor.h>

namespace spire {

struct TensorToWrite {
  std::string name;
  Shape shape;
  // Copies elements [begin, begin + out.size()), row-major. Parts are asked for in order.
  std::function<void(int64_t begin, std::span<float> out)> read;
};

// Reads all of a tensor in parts of at most 8 MiB; calls take(part) for each, std::span<float> in
// `memory`.
template <typename Take>
void read_in_parts(const TensorToWrite& tensor, std::vector<float>& memory, const Take& take) {
  constexpr int64_t most = int64_t{1} << 21;
  int64_t count = tensor.shape.elements();
  for (int64_t at = 0; at < count; at += std::ssize(memory)) {
    memory.resize(static_cast<size_t>(std::min(most, count - at)));
    tensor.read(at, memory);
    take(std::span(memory));
  }
}

}  // namespace spire
