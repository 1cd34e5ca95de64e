// One device's copy of the weights: plain, and in the forms its kernels read.
#pragma once
#include "engine/device/device_memory.h"
#include "engine/device/memory_pool.h"
#include "engine/graph/packed_weights.h"
#include "engine/graph/parameter_layout.h"

namespace spire::inline training {

class Replica {
 public:
  explicit Replica(const ParameterLayout& layout)
      : weight_bytes_(static_cast<size_t>(layout.total_floats()) * sizeof(float)) {}

  // Once all plans that read it are made.
  void allocate(MemoryPool& memory);
  MemoryUse memory() const { return {{MemoryKind::weights, weight_bytes_ + forms.bytes()}}; }

  float* values() const { return weights->as<float>(); }  // in the device's memory

  // The plain weights for the host: themselves where it can address them, else a copy in `copy`.
  // Behind all work that the device was given. After changing them, write().
  float* read(Buffer& copy) const;
  void write(const float* from);  // whole, from the host

  std::unique_ptr<DeviceMemory> weights;  // fp32, plain layout, parameters then running statistics
  PackedWeights forms;

 private:
  size_t weight_bytes_;
};

}  // namespace spire::inline training
