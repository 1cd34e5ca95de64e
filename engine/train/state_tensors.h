// From the named tensors of a saved state to the flat buffers of a model.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/training_state.h"
#include "engine/collective/buckets.h"
#include "engine/graph/parameter_layout.h"

namespace spire::inline training {

// The slot of averaged weights (ema.decay).
inline constexpr const char* average_slot = "ema";

// The group of an optimizer's slot; none when the state has none of that name.
std::optional<size_t> find_slot(const SavedTensors& saved, const std::string& name);

// That of the weights. Throws Error(checkpoint) where there is none.
size_t find_weights(const SavedTensors& saved);

// One group of a saved state, each tensor at its entry of a flat buffer: trained parameters, or
// running statistics.
class GroupReader {
 public:
  // Throws Error(checkpoint) naming the first tensor that does not fit the model; `what` says what
  // the tensors are: "weight". The state outlives this.
  GroupReader(const ParameterLayout& layout, const SavedTensors& saved, size_t group, bool trained,
              const std::string& what);

  // What of the tensors lies in the window, which begins at `flat`; what is between them stays as
  // it was. Throws as the state does.
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

// Weights and running statistics, all of a flat buffer in the host's memory. averaged: the average
// of the weights where the state has one.
void read_weights(const ParameterLayout& layout, const SavedTensors& saved, bool averaged,
                  float* flat);

}  // namespace spire::inline training
