// Layout of the flat fp32 buffers (weights, gradients, each optimizer slot), and packed weights.
// Parameters are in the order in which backward completes their gradients, so that a prefix of the
// gradient buffer is final early. Running statistics come last; their part of the gradient buffer
// contains the step's contributions (StateUpdate).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device_memory.h"
#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "engine/graph/graph.h"
#include "kernels/kernel.h"

namespace spire::inline graph {

struct ParameterEntry {
  std::string name;
  Shape shape;
  int64_t offset = 0;     // in floats, a multiple of 16
  bool trained = true;    // false: a running statistic
  float momentum = 0.0f;  // for a running statistic: StateUpdate::momentum
  Initializer initialize;
  int64_t elements() const { return shape.elements(); }
};

class ParameterLayout {
 public:
  ParameterLayout() = default;
  ParameterLayout(const Graph& graph, const std::vector<ParameterGradient>& gradients);

  const std::vector<ParameterEntry>& entries() const { return entries_; }
  const ParameterEntry& find(const std::string& name) const;  // throws Error(unexpected)
  size_t entry_at(size_t floats) const;  // index of the entry with that element of the flat buffer
  // Sizes in floats, padding included: of the trained parameters, and of those and the statistics.
  int64_t trained_floats() const { return trained_floats_; }
  int64_t total_floats() const { return total_floats_; }
  int64_t parameter_count() const;  // elements of all parameters, without padding

  // Writes share `part` of `parts` of the initial weights (total_floats()), which are a function of
  // the seed and each name. Threads may write their shares at once.
  void initialize(uint64_t seed, float* weights, int part = 0, int parts = 1) const;

  // Returns a run's parameter hash: of all entries in order of their names, whatever the layout.
  uint64_t hash(const float* weights) const;

 private:
  void append(ParameterEntry entry);

  std::vector<ParameterEntry> entries_;
  int64_t trained_floats_ = 0, total_floats_ = 0;
};

// Packed weights of one device: its parameters in the forms that its kernels read
// (Kernel::packings), made from the plain fp32 weights after every update.
class PackedWeights {
 public:
  // Registers a packed form, which all plans share, and returns its byte offset. step: true if
  // training steps read it; other forms are packed only before an evaluation.
  size_t add(const ParameterEntry& entry, Packing packing, bool step);

  // REQUIRES: all plans have been made, as they call add().
  void allocate(MemoryPool& memory) { memory_ = memory.allocate(MemoryKind::weights, bytes_); }
  size_t bytes() const { return bytes_; }
  const std::byte* data() const { return memory_->as<std::byte>(); }

  // Pack share `part` of `parts`: the units whose first weight is in that share of the plain
  // weights, so that the thread that updates weights packs them. Threads may pack at once.
  void pack_for_step(const float* weights, int part, int parts, Stream& stream);
  void pack_for_evaluation(const float* weights, int part, int parts, Stream& stream);

  struct Unit {  // of a form that training steps read: see Packing::units
    size_t form = 0;
    int64_t index = 0;
    int64_t begin = 0, end = 0;  // it reads plain weights [begin, end), in floats
  };
  std::vector<Unit> step_units() const;
  // Packs one unit from the plain weights, a whole flat buffer. Threads may pack different ones.
  void pack(const Unit& unit, const float* weights, Stream& stream);

 private:
  struct Form {
    int64_t parameter_offset;  // in the plain weights, in floats
    size_t offset;             // in memory_, in bytes
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
