// Conversion between a model's flat buffers and the named tensors of checkpoints: TrainerTensors
// shows buffers as tensors; GroupReader and read_weights() fill buffers.
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

inline constexpr const char* average_slot = "ema";  // of averaged weights (ema.decay)

// Return the index of a group: an optimizer's slot, if there is one of that name; the weights.
std::optional<size_t> find_slot(const SavedTensors& saved, const std::string& name);

size_t find_weights(const SavedTensors& saved);  // throws Error(checkpoint) without them

// Reads one group of a saved state into a flat buffer: trained parameters, or running statistics.
class GroupReader {
 public:
  // what: of messages, "weight". The state outlives this. Throws Error(checkpoint) naming the first
  // tensor that does not fit the model.
  GroupReader(const ParameterLayout& layout, const SavedTensors& saved, size_t group, bool trained,
              const std::string& what);

  // Copies what lies in the window, which begins at `flat`, but writes no padding between tensors.
  // Throws what the state throws.
  void read(FloatRange window, float* flat) const;

 private:
  struct Source {
    FloatRange range;  // in the flat buffer
    size_t tensor;     // of the group
  };
  const SavedTensors& saved_;
  size_t group_;
  std::vector<Source> sources_;
};

// Fills a flat buffer on the host with weights (averaged: their average, where the state has one)
// and running statistics.
void read_weights(const ParameterLayout& layout, const SavedTensors& saved, bool averaged,
                  float* flat);

// A trainer's state as a checkpoint reads it: weights, running statistics, then the slots.
class TrainerTensors : public SavedTensors {
 public:
  // Copies a window of one slot's flat buffer to `out`.
  using ReadSlot = std::function<void(size_t slot, FloatRange window, float* out)>;

  TrainerTensors(const ParameterLayout& layout, const std::vector<std::string>& slots);

  // Sets the state's sources. weights: a whole flat buffer, in the host's memory.
  void bind(const float* weights, ReadSlot read_slot);

  std::vector<TensorGroup> groups() const override { return groups_; }
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override;

 private:
  std::vector<TensorGroup> groups_;
  std::vector<int64_t> trained_, statistics_;  // offset of each tensor in the flat buffer
  const float* weights_ = nullptr;
  ReadSlot read_slot_;
};

}  // namespace spire::inline training
