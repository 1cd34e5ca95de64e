// Conversion between a trainer's flat fp32 buffers and the named tensors of checkpoints:
// TowerTrainerTensors presents buffers as tensors; GroupReader and read_weights() fill buffers.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/training_state.h"
#include "engine/graph/parameter_layout.h"
#include "engine/update/tree.h"

namespace spire {

// Reads one group of a saved state (weights, statistics or a slot) into a flat buffer.
class GroupReader {
 public:
  using Choice = std::function<bool(const ParameterEntry&)>;
  // wanted: which entries to read, all of which the group must have; it may have other entries of
  // the layout, but no further tensors. what: the noun in error messages, such as "weight". The
  // state outlives this. Throws Error(checkpoint) with the name of the first tensor that does not
  // fit the model.
  GroupReader(const ParameterLayout& layout, const SavedTensors& saved, size_t group,
              const Choice& wanted, const std::string& what);

  // Copies what lies in `window`, a range of the flat buffer that begins at `flat`; padding between
  // tensors is not written. Throws what saved.read() throws.
  void read(FloatRange window, float* flat) const;

 private:
  struct Source {
    FloatRange range;  // range of the flat buffer
    size_t tensor;     // index in the group
  };
  const SavedTensors& saved_;
  size_t group_;
  std::vector<Source> sources_;
};

// Returns the readers that together fill the trained part of the slot `name` ("momentum"). An
// average that the state lacks, as its run made none or had the parameter frozen, begins with the
// weight. Throws Error(checkpoint) if it lacks another slot, or has it for others than the trained
// parameters, as its run had others frozen.
std::vector<GroupReader> slot_readers(const ParameterLayout& layout, const SavedTensors& saved,
                                      const std::string& name);

// Fills a flat host buffer: weights (averaged ones if `averaged` and there are any), statistics.
// The average of a frozen weight is the weight itself, and is not stored.
void read_weights(const ParameterLayout& layout, const SavedTensors& saved, bool averaged,
                  float* flat);

// A trainer's state as a checkpoint reads it: weights, running statistics, slots, averaged weights.
class TowerTrainerTensors : public SavedTensors {
 public:
  // Copies a window of one slot's flat buffer to `out`.
  using ReadSlot = std::function<void(size_t slot, FloatRange window, float* out)>;

  TowerTrainerTensors(const ParameterLayout& layout, const std::vector<std::string>& slots);

  // Sets the buffers to read. weights: the whole flat buffer, in host memory.
  void bind(const float* weights, ReadSlot read_slot);

  std::vector<TensorGroup> groups() const override { return groups_; }
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override;

 private:
  std::vector<TensorGroup> groups_;
  std::vector<std::vector<int64_t>> offsets_;  // of each tensor of each group in the flat buffer
  const float* weights_ = nullptr;
  ReadSlot read_slot_;
};

}  // namespace spire
