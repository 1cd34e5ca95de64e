// Replica: a device's copy of the weights, as plain fp32 and in the packed layouts of its kernels.
#pragma once
#include <memory>

#include "engine/device/device_memory.h"
#include "engine/device/memory_pool.h"
#include "engine/graph/parameter_layout.h"

namespace spire {

class DeviceSet;

class Replica {
 public:
  explicit Replica(const ParameterLayout& layout)
      : weight_bytes_(static_cast<size_t>(layout.total_floats()) * sizeof(float)) {}

  // REQUIRES: all plans that read the replica are made, since they decide on the packed layouts.
  void allocate(MemoryPool& memory);
  MemoryUse memory() const { return {{MemoryKind::weights, weight_bytes_ + forms.bytes()}}; }

  float* values() const { return weights->as<float>(); }  // device memory

  // Returns the plain weights in host memory: in place if the host can address them, else copied to
  // `copy`. Waits for all work that the device was given. Call write() after changing any of them.
  float* read(Buffer& copy) const;
  void write(const float* from);  // copies the whole flat buffer from host memory

  std::unique_ptr<DeviceMemory> weights;  // flat fp32 buffer, laid out by ParameterLayout
  PackedWeights forms;

 private:
  size_t weight_bytes_;
};

// Compares the replicas of all ranks; all ranks call it. Throws SymmetricError(collective) that
// names the first tensor that differs and the device whose bits are unlike most, or PeerLost.
void check_replicas(DeviceSet& devices, const ParameterLayout& layout);

}  // namespace spire
