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
  // wanted: the entries to read; the group must have them all. It may also have other entries of
  // the layout, but no tensors that the layout lacks. what: the noun in error messages, such as
  // "weight". The state outlives this. Throws Error(checkpoint) with the name of the first tensor
  // that does not fit the model.
  GroupReader(const ParameterLayout& layout, const SavedTensors& saved, size_t group,
              const Choice& wanted, const std::string& what);

  // Copies the values that lie in `window`, a range of the flat buffer, to `flat`, where flat[0] is
  // the float window.begin; does not write padding. Throws what saved.read() throws.
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

// Returns readers that together fill the slot `name` ("momentum") of all trained parameters. If the
// state lacks the average of a parameter, because its run kept none or had frozen the parameter,
// the weight is read in its place. Throws Error(checkpoint) if the state lacks another slot, or has
// it for other parameters than are trained here, because its run had frozen others.
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
