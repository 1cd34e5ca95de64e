// One device's copy of the weights: plain, and in the forms its kernels read.
#pragma once
#include <spire/device/buffer.h>
#include <spire/graph/packed_forms.h>
#include <spire/graph/parameter_layout.h>

namespace spire {

struct Replica {
  explicit Replica(const ParameterLayout& layout)
      : weights(static_cast<size_t>(layout.total_floats()) * sizeof(float)) {}

  float* values() { return weights.as<float>(); }
  const float* values() const { return weights.as<float>(); }

  Buffer weights;  // fp32, plain layout, parameters then running statistics
  PackedForms forms;
};

}  // namespace spire
