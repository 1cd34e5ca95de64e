#include "engine/train/state_tensors.h"

#include <algorithm>
#include <utility>

#include <spire/error.h>

namespace spire::inline training {
namespace {

// Throws Error(checkpoint) where the state has no group of that path.
size_t need_group(const SavedTensors& saved, const std::string& path) {
  auto group = find_group(saved, path);
  if (!group) fail(Category::checkpoint, "the checkpoint has no {}", path);
  return *group;
}

}  // namespace

std::optional<size_t> find_slot(const SavedTensors& saved, const std::string& name) {
  return find_group(saved, optimizer_groups + name);
}

size_t find_weights(const SavedTensors& saved) {
  return need_group(saved, weights_group);
}

GroupReader::GroupReader(const ParameterLayout& layout, const SavedTensors& saved, size_t group,
                         bool trained, const std::string& what)
    : saved_(saved), group_(group) {
  std::vector<TensorEntry> tensors = saved.groups().at(group).tensors;
  for (const auto& entry : layout.entries()) {
    if (entry.trained != trained) continue;
    auto found = std::find_if(tensors.begin(), tensors.end(),
                              [&](const TensorEntry& t) { return t.name == entry.name; });
    if (found == tensors.end()) {
      fail(Category::checkpoint,
           "{}: the checkpoint has no '{}'; use the config of its run, or another checkpoint", what,
           entry.name);
    }
    if (found->shape != entry.shape) {
      fail(Category::checkpoint,
           "{} '{}' has shape {} in the checkpoint, but {} in the model; use the config of its "
           "run, or another checkpoint",
           what, entry.name, to_string(found->shape), to_string(entry.shape));
    }
    sources_.push_back({{entry.offset, entry.offset + entry.elements()},
                        static_cast<size_t>(found - tensors.begin())});
  }
  // All of the model's tensors were found: more are another model's.
  if (tensors.size() != sources_.size()) {
    fail(Category::checkpoint,
         "{}: the checkpoint has {} tensors, but the model {}; use the config of its run, or "
         "another checkpoint",
         what, tensors.size(), sources_.size());
  }
}

void GroupReader::read(FloatRange window, float* flat) const {
  for (const Source& source : sources_) {
    FloatRange part = common(source.range, window);  // in the flat buffer
    if (part.size() <= 0) continue;
    saved_.read(group_, source.tensor, part.begin - source.range.begin,
                {flat + (part.begin - window.begin), static_cast<size_t>(part.size())});
  }
}

void read_weights(const ParameterLayout& layout, const SavedTensors& saved, bool averaged,
                  float* flat) {
  auto average = averaged ? find_slot(saved, average_slot) : std::nullopt;
  size_t weights = average ? *average : find_weights(saved);
  FloatRange all = {0, layout.total_floats()};
  GroupReader(layout, saved, weights, true, "weight").read(all, flat);
  GroupReader(layout, saved, need_group(saved, states_group), false, "statistic").read(all, flat);
}

// Groups 0 and 1 are weights and running statistics; slots follow, with the weights' tensors.
TrainerTensors::TrainerTensors(const ParameterLayout& layout, const std::vector<std::string>& slots)
    : groups_{{weights_group, {}}, {states_group, {}}} {
  for (const ParameterEntry& entry : layout.entries()) {
    groups_[entry.trained ? 0 : 1].tensors.push_back({entry.name, entry.shape});
    (entry.trained ? trained_ : statistics_).push_back(entry.offset);
  }
  for (const std::string& slot : slots)
    groups_.push_back({optimizer_groups + slot, groups_[0].tensors});
}

void TrainerTensors::bind(const float* weights, ReadSlot read_slot) {
  weights_ = weights;
  read_slot_ = std::move(read_slot);
}

void TrainerTensors::read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const {
  int64_t at = (group == 1 ? statistics_ : trained_).at(tensor) + begin;
  if (group < 2) {
    std::copy_n(weights_ + at, out.size(), out.begin());
  } else {
    read_slot_(group - 2, {at, at + std::ssize(out)}, out.data());
  }
}

}  // namespace spire::inline training
