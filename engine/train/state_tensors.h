// Conversion between a trainer's flat fp32 buffers and the named tensors of checkpoints:
// TrainerTensors presents buffers as tensors; GroupReader and read_weights() fill buffers.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/training_state.h"
#include "engine/collective/tree.h"
#include "engine/graph/parameter_layout.h"

namespace spire::inline training {

inline constexpr const char* average_slot = "ema";  // name of the averaged weights (ema.decay)

// Returns the index of the group of tensors of the optimizer's slot `name` ("momentum"), if any.
std::optional<size_t> find_slot(const SavedTensors& saved, const std::string& name);

// Returns the index of the group of weights. Throws Error(checkpoint) if there is none.
size_t find_weights(const SavedTensors& saved);

// Throws Error(checkpoint) if the tensors of the slot `name`, whose group this is, are not those of
// the trained parameters: the state's run had frozen others.
void require_same_freeze(const ParameterLayout& layout, const SavedTensors& saved, size_t group,
                         const std::string& name);

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

// Fills a flat host buffer: weights (averaged ones if `averaged` and there are any), statistics.
// The average of a frozen weight is the weight itself, and is not stored.
void read_weights(const ParameterLayout& layout, const SavedTensors& saved, bool averaged,
                  float* flat);

// A trainer's state as a checkpoint reads it: weights, running statistics, slots, averaged weights.
class TrainerTensors : public SavedTensors {
 public:
  // Copies a window of one slot's flat buffer to `out`.
  using ReadSlot = std::function<void(size_t slot, FloatRange window, float* out)>;

  TrainerTensors(const ParameterLayout& layout, const std::vector<std::string>& slots);

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

}  // namespace spire::inline training
