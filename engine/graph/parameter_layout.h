// Layout of the flat fp32 buffers (weights, gradients, each optimizer slot), and packed weights.
//   weights    trained parameters | running statistics | frozen parameters and statistics | teacher
//   gradients  trained parameters | running statistics
//   slots      trained parameters
// Trained parameters are in the order in which backward completes their gradients, so that a prefix
// of the gradient buffer is final early; the part of the running statistics contains the step's
// contributions (StateUpdate). No step changes frozen entries or those of a teacher. A teacher's
// entries are not part of the model: checkpoints and hashes leave them out.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <spire/packing.h>

#include "engine/device/device_memory.h"
#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "engine/graph/graph.h"
#include "kernels/kernel.h"

namespace spire {

struct ParameterEntry {
  std::string name;
  Shape shape;
  int64_t offset = 0;      // in floats, a multiple of 16
  bool statistic = false;  // a running statistic, not a parameter
  bool frozen = false;     // no step changes it
  float momentum = 0.0f;   // for a running statistic: StateUpdate::momentum
  Initializer initialize;
  bool teacher = false;  // Tensor::teacher
  bool trained() const { return !statistic && !frozen; }
  // Whether it is one of the model's own.
  bool is_parameter() const { return !statistic && !teacher; }
  bool is_statistic() const { return statistic && !teacher; }
  int64_t elements() const { return shape.elements(); }
};

class ParameterLayout {
 public:
  ParameterLayout() = default;
  // graph: after differentiate(), which returned the gradients.
  ParameterLayout(const Graph& graph, const std::vector<ParameterGradient>& gradients);

  const std::vector<ParameterEntry>& entries() const { return entries_; }
  // The entries that have a place in the gradient buffer: all that are not frozen.
  std::span<const ParameterEntry> entries_with_gradients() const;
  const ParameterEntry& find(const std::string& name) const;  // throws Error(unexpected)
  size_t entry_at(size_t floats) const;  // index of the entry with that element of the flat buffer
  // Sizes in floats, padding included: of an optimizer slot; of the gradient buffer; of the model's
  // weights, which checkpoints contain; of all weights, a teacher's included.
  int64_t trained_floats() const { return trained_floats_; }
  int64_t gradient_floats() const { return gradient_floats_; }
  int64_t model_floats() const { return model_floats_; }
  int64_t total_floats() const { return total_floats_; }
  // Return numbers of elements, without padding: of all parameters of the model, and of the frozen
  // ones among them.
  int64_t parameter_count() const;
  int64_t frozen_count() const;

  // Writes share `part` of `parts` of the initial values to `weights`, a buffer of total_floats().
  // They depend only on the seed and the entries' names. Threads may write different shares at
  // once.
  void initialize(uint64_t seed, float* weights, int part = 0, int parts = 1) const;

  // Returns a run's parameter hash: of the model's entries in order of their names, whatever the
  // layout.
  uint64_t hash(const float* weights) const;
  // by_name() returns the model's entries in the order of their names, hashes() the hash64 of the
  // values of each in the same order.
  std::vector<const ParameterEntry*> by_name() const;
  std::vector<uint64_t> hashes(const float* weights) const;

 private:
  void append(ParameterEntry entry);
  void append_frozen(const Graph& graph, bool teacher);

  std::vector<ParameterEntry> entries_;
  int64_t trained_floats_ = 0, gradient_floats_ = 0, model_floats_ = 0, total_floats_ = 0;
};

// Packed weights of one device: its parameters in the forms that its kernels read
// (Kernel::packings), made from the plain fp32 weights after every update; forms of frozen
// parameters are made once.
class PackedWeights {
 public:
  // Registers a packed form, which all plans share, and returns its byte offset. step: true if
  // training steps read it; other forms are packed only before an evaluation.
  size_t add(const ParameterEntry& entry, Packing packing, bool step);

  PackedWeights like() const;  // the same forms, without memory
  // REQUIRES: all plans have been made, as they call add().
  void allocate(MemoryPool& memory) { memory_ = memory.allocate(MemoryKind::weights, bytes_); }
  size_t bytes() const { return bytes_; }
  const std::byte* data() const { return memory_->as<std::byte>(); }

  // Pack share `part` of `parts` of the forms that steps read, or of the others: the units whose
  // first weight lies in that share of the plain weights. weights: the whole flat buffer. Threads
  // may pack different shares at once.
  void pack_for_step(const float* weights, int part, int parts, Stream& stream);
  void pack_for_evaluation(const float* weights, int part, int parts, Stream& stream);
  // Packs the same share of all forms of frozen parameters; call it when all weights have been set
  // from outside.
  void pack_frozen(const float* weights, int part, int parts, Stream& stream);

  struct Unit {  // a unit of a form (Packing::units) that must be packed after each update
    size_t form = 0;
    int64_t index = 0;
    int64_t begin = 0, end = 0;  // it reads plain weights [begin, end), in floats
  };
  std::vector<Unit> step_units() const;
  // Packs one unit. weights: the whole flat buffer. Threads may pack different units at once.
  void pack(const Unit& unit, const float* weights, Stream& stream);

 private:
  struct Form {
    int64_t parameter_offset;  // in the plain weights, in floats
    size_t offset;             // in memory_, in bytes
    int64_t elements;
    bool step, frozen;
    Packing packing;
    bool packs_every_step() const { return step && !frozen; }
  };
  struct Extent {  // of plain weights, in floats
    int64_t begin = 0, end = 0;
  };
  static Extent share_of(Extent all, int part, int parts);
  void pack_form(const Form& form, const float* weights, Extent share, Stream& stream);

  std::vector<Form> forms_;
  Extent changing_, frozen_;  // from the first weight that has such a form to the last
  size_t bytes_ = 0;
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace spire
