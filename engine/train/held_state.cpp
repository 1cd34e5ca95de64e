#include "engine/train/held_state.h"

#include <algorithm>
#include <utility>

namespace spire::inline training {

HeldState::HeldState(const ParameterLayout& layout, const std::vector<std::string>& slots)
    : groups_{{weights_group, {}}, {states_group, {}}} {
  for (const ParameterEntry& entry : layout.entries()) {
    groups_[entry.trained ? 0 : 1].tensors.push_back({entry.name, entry.shape});
    (entry.trained ? trained_ : kept_).push_back(entry.offset);
  }
  for (const std::string& slot : slots)
    groups_.push_back({optimizer_groups + slot, groups_[0].tensors});
}

void HeldState::hold(const float* weights, ReadSlot read_slot) {
  weights_ = weights;
  read_slot_ = std::move(read_slot);
}

void HeldState::read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const {
  int64_t at = (group == 1 ? kept_ : trained_).at(tensor) + begin;
  if (group < 2) {
    std::copy_n(weights_ + at, out.size(), out.begin());
  } else {
    read_slot_(group - 2, {at, at + std::ssize(out)}, out.data());
  }
}

}  // namespace spire::inline training
