// The two directions between named tensors, as checkpoints have them, and the flat buffers of a
// model (parameter_layout.h): TrainerTensors shows a trainer's buffers as tensors; GroupReader and
// read_weights() fill buffers from tensors.
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

// Name of the slot of averaged weights (ema.decay).
inline constexpr const char* average_slot = "ema";

// Finds the group of an optimizer's slot; none where the state has no slot of that name.
std::optional<size_t> find_slot(const SavedTensors& saved, const std::string& name);

// Finds the group of the weights. Throws Error(checkpoint) where there is none.
size_t find_weights(const SavedTensors& saved);

// Reads one group of a saved state into a flat buffer: trained parameters, or running statistics.
class GroupReader {
 public:
  // Throws Error(checkpoint) naming the first tensor that does not fit the model; `what` says what
  // the tensors are: "weight". The state outlives this.
  GroupReader(const ParameterLayout& layout, const SavedTensors& saved, size_t group, bool trained,
              const std::string& what);

  // Copies the part of the tensors that lies in the window, which begins at `flat`; padding between
  // tensors is not written. Throws what the state throws.
  void read(FloatRange window, float* flat) const;

 private:
  struct Place {
    FloatRange range;  // in the flat buffer
    size_t tensor;     // of the group
  };
  const SavedTensors& saved_;
  size_t group_;
  std::vector<Place> places_;
};

// Fills a flat buffer in the host's memory with weights and running statistics. averaged: the
// average of the weights where the state has one.
void read_weights(const ParameterLayout& layout, const SavedTensors& saved, bool averaged,
                  float* flat);

// A trainer's state as a checkpoint reads it: weights, running statistics, then the slots.
class TrainerTensors : public SavedTensors {
 public:
  // Copies a window of one slot's flat buffer (trained_floats() long) to `out`.
  using ReadSlot = std::function<void(size_t slot, FloatRange window, float* out)>;

  // The layout outlives this.
  TrainerTensors(const ParameterLayout& layout, const std::vector<std::string>& slots);

  // Sets where the state lies from now on. weights: a whole flat buffer, in the host's memory.
  void hold(const float* weights, ReadSlot read_slot);

  std::vector<TensorGroup> groups() const override { return groups_; }
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override;

 private:
  std::vector<TensorGroup> groups_;
  std::vector<int64_t> trained_, kept_;  // offset of each tensor in the flat buffer
  const float* weights_ = nullptr;
  ReadSlot read_slot_;
};

}  // namespace spire::inline training
