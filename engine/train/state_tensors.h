// Between the flat buffers of a model and the named tensors of a training state.
#pragma once
#include <string>
#include <vector>

#include <spire/graph/parameter_layout.h>
#include <spire/train/snapshot.h>

namespace spire {

// The slot of averaged weights (ema.decay).
inline constexpr const char* average_slot = "ema";

// Entries of a flat buffer: trained parameters, or running statistics. Reuses the tensors that a
// former snapshot left.
void copy_out(const ParameterLayout& layout, const float* buffer, bool trained,
              std::vector<NamedTensor>& tensors);

// Throws Error(checkpoint) naming the first tensor that does not fit the model; `what` says what
// the tensors are: "weights".
void copy_in(const ParameterLayout& layout, const std::vector<NamedTensor>& tensors,
             const std::string& what, bool trained, float* buffer);

// The tensors of an optimizer's slot, null when the state has none of that name.
const std::vector<NamedTensor>* find_slot(const TrainingState& state, const std::string& name);

}  // namespace spire
