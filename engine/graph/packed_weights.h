// The parameters of one device, packed into the layouts that its kernels read (Kernel::packings).
// One buffer per device, packed again from the plain weights after every update.
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
  // Registers a packed form while plans are made and returns its byte offset. Plans that need the
  // same form of a parameter share it. step: whether training steps read it; other forms are packed
  // before an evaluation only.
  size_t add(const ParameterEntry& entry, Packing packing, bool step);

  // Allocates the buffer, once all plans are made.
  void allocate(MemoryPool& memory) { memory_ = memory.allocate(MemoryKind::weights, bytes_); }
  size_t bytes() const { return bytes_; }
  const std::byte* data() const { return memory_->as<std::byte>(); }

  // Packs share `part` of `parts`: the units whose weights begin in that share of the plain
  // weights, so that the lane that updates weights also packs them. Parts may run concurrently.
  void pack_for_step(const float* weights, int part, int parts, Stream& stream);
  void pack_for_evaluation(const float* weights, int part, int parts, Stream& stream);

 private:
  struct Form {
    int64_t parameter_offset;  // floats, in the plain weights
    size_t offset;             // bytes, in this buffer
    int64_t elements;
    bool step;
    Packing packing;
  };
  void pack_forms(const float* weights, bool step, int part, int parts, Stream& stream);

  std::vector<Form> forms_;
  int64_t floats_ = 0;  // end of the last plain weight that has a form
  size_t bytes_ = 0;
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace spire::inline graph
