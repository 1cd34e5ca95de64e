// One device's copy of the weights: plain fp32, and packed as its kernels read them.
#pragma once
#include <memory>

#include "engine/device/device_memory.h"
#include "engine/device/memory_pool.h"
#include "engine/graph/parameter_layout.h"

namespace spire::inline training {

class DeviceSet;

class Replica {
 public:
  explicit Replica(const ParameterLayout& layout)
      : weight_bytes_(static_cast<size_t>(layout.total_floats()) * sizeof(float)) {}

  // REQUIRES: all plans that read it are made, as they ask for packed forms.
  void allocate(MemoryPool& memory);
  MemoryUse memory() const { return {{MemoryKind::weights, weight_bytes_ + forms.bytes()}}; }

  float* values() const { return weights->as<float>(); }  // in the device's memory

  // Returns the plain weights for the host: in place where the host can address them, else copied
  // to `copy`. Waits for all work that the device was given. write() must follow any change.
  float* read(Buffer& copy) const;
  void write(const float* from);  // the whole buffer, from the host

  std::unique_ptr<DeviceMemory> weights;  // fp32, plain layout, parameters then running statistics
  PackedWeights forms;

 private:
  size_t weight_bytes_;
};

// Compares the replicas of all ranks; all ranks call it. Throws SymmetricError(collective) naming
// the first tensor that differs, and the device that has other bits than most. Throws PeerLost.
void check_replicas(DeviceSet& devices, const ParameterLayout& layout);

}  // namespace spire::inline training
