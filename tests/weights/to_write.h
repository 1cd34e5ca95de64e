// Tensors in memory, to be written.
#pragma once
#include <algorithm>
#include <vector>

#include "engine/checkpoint/training_state.h"
#include "engine/weights/files/weight_writers.h"

namespace spire {

inline TensorToWrite to_write(const NamedTensor& tensor) {
  return {tensor.name, tensor.shape, [tensor](int64_t begin, std::span<float> out) {
            std::copy_n(tensor.values.begin() + begin, out.size(), out.begin());
          }};
}

inline std::vector<TensorToWrite> to_write(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorToWrite> all;
  for (const NamedTensor& tensor : tensors) all.push_back(to_write(tensor));
  return all;
}

}  // namespace spire
