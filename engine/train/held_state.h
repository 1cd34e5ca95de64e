// A trainer's state as a checkpoint reads it.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/training_state.h"
#include "engine/collective/buckets.h"
#include "engine/graph/parameter_layout.h"

namespace spire::inline training {

class HeldState : public SavedTensors {
 public:
  // A window of one slot's flat buffer, of trained_floats(), to `out`: the tensors that lie there.
  using ReadSlot = std::function<void(size_t slot, FloatRange window, float* out)>;

  // The layout outlives this.
  HeldState(const ParameterLayout& layout, const std::vector<std::string>& slots);

  // Where it lies from now on. weights: all of a flat buffer, in the host's memory.
  void hold(const float* weights, ReadSlot read_slot);

  std::vector<TensorGroup> groups() const override { return groups_; }
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override;

 private:
  std::vector<TensorGroup> groups_;
  std::vector<int64_t> trained_, kept_;  // where each tensor begins in the flat buffer
  const float* weights_ = nullptr;
  ReadSlot read_slot_;
};

}  // namespace spire::inline training
