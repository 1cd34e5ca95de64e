// The parameters of one device in the forms its kernels read (Kernel::packings): one buffer a
// device, made anew from the plain weights after every update.
#pragma once
#include <string>
#include <vector>

#include "engine/device/device_memory.h"
#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "engine/graph/parameter_layout.h"
#include "kernels/kernel.h"

namespace spire::inline graph {

class PackedWeights {
 public:
  // Registers a form at plan time and returns its byte offset; equal (parameter, form) share one.
  // step: whether a training step reads it; forms that only evaluation reads are packed before
  // that.
  size_t add(const ParameterEntry& entry, Packing packing, bool step);

  // Once all plans are made, in the memory of their device.
  void allocate(MemoryPool& memory) { memory_ = memory.allocate(MemoryKind::weights, bytes_); }
  size_t bytes() const { return bytes_; }
  const std::byte* data() const { return memory_->as<std::byte>(); }

  // Packs share `part` of `parts`: the units whose weights begin in that share of the plain
  // weights, so that the lane that updated weights also packs them. Parts may run at a time.
  void pack_for_step(const float* weights, int part, int parts, Stream& stream);
  void pack_for_evaluation(const float* weights, int part, int parts, Stream& stream);

 private:
  struct Form {
    int64_t parameter_offset;
    size_t offset;
    int64_t elements;
    bool step;
    Packing packing;
  };
  void pack_some(const float* weights, bool step, int part, int parts, Stream& stream);

  std::vector<Form> forms_;
  int64_t floats_ = 0;  // plain weights up to the last one that has a form
  size_t bytes_ = 0;
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace spire::inline graph
