#include "engine/checkpoint/training_state.h"

#include <algorithm>

#include <spire/error.h>

namespace spire::inline checkpoint {
namespace {

TensorGroup group_of(const std::string& path, const std::vector<NamedTensor>& tensors) {
  TensorGroup group{path, {}};
  for (const NamedTensor& tensor : tensors) group.tensors.push_back({tensor.name, tensor.shape});
  return group;
}

std::vector<NamedTensor> read_group(const SavedTensors& tensors, size_t group,
                                    const TensorGroup& entries) {
  std::vector<NamedTensor> values;
  for (size_t i = 0; i < entries.tensors.size(); ++i) {
    const TensorEntry& entry = entries.tensors[i];
    values.push_back({entry.name, entry.shape, {}});
    values.back().values.resize(static_cast<size_t>(entry.shape.elements()));
    tensors.read(group, i, 0, values.back().values);
  }
  return values;
}

}  // namespace

std::vector<TensorGroup> TrainingState::groups() const {
  std::vector<TensorGroup> groups = {group_of(weights_group, weights),
                                     group_of(states_group, states)};
  for (const auto& [slot, tensors] : optimizer)
    groups.push_back(group_of(optimizer_groups + slot, tensors));
  return groups;
}

const std::vector<NamedTensor>& TrainingState::group(size_t index) const {
  if (index < 2) return index == 0 ? weights : states;
  return optimizer.at(index - 2).second;
}

void TrainingState::read(size_t group_index, size_t tensor, int64_t begin,
                         std::span<float> out) const {
  const NamedTensor& from = group(group_index).at(tensor);
  require(begin + std::ssize(out) <= std::ssize(from.values), "{} has {} values for shape {}",
          from.name, from.values.size(), to_string(from.shape));
  std::copy_n(from.values.begin() + begin, out.size(), out.begin());
}

void read_all(const SavedTensors& tensors, TrainingState& state) {
  std::vector<TensorGroup> groups = tensors.groups();
  state.optimizer.clear();
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<NamedTensor> values = read_group(tensors, g, groups[g]);
    const std::string& path = groups[g].path;
    if (path == weights_group) {
      state.weights = std::move(values);
    } else if (path == states_group) {
      state.states = std::move(values);
    } else {
      std::string slot = path.substr(std::string_view(optimizer_groups).size());
      state.optimizer.emplace_back(slot, std::move(values));
    }
  }
}

}  // namespace spire::inline checkpoint
