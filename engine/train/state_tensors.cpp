#include "engine/train/state_tensors.h"

#include <algorithm>
#include <utility>

#include "engine/base/fail.h"

namespace spire {
namespace {

// Returns the index of the tensor of that name, if there is one.
std::optional<size_t> find_tensor(const TensorGroup& group, const std::string& name) {
  auto found = std::ranges::find(group.tensors, name, &TensorEntry::name);
  if (found == group.tensors.end()) return std::nullopt;
  return static_cast<size_t>(found - group.tensors.begin());
}

// Throws Error(checkpoint) where the state has no group of that path.
size_t need_group(const SavedTensors& saved, const std::string& path) {
  auto group = find_group(saved, path);
  if (!group) fail(Category::checkpoint, "the checkpoint has no {}", path);
  return *group;
}

std::optional<size_t> find_slot(const SavedTensors& saved, const std::string& name) {
  return find_group(saved, optimizer_groups + name);
}

// Throws Error(checkpoint) if the tensors of the slot `name`, whose group this is, are not those of
// the trained parameters: the state's run had frozen others.
void require_same_freeze(const ParameterLayout& layout, const SavedTensors& saved, size_t group,
                         const std::string& name) {
  TensorGroup tensors = saved.groups().at(group);
  for (const ParameterEntry& entry : layout.entries()) {
    bool has_state = find_tensor(tensors, entry.name).has_value();
    if (entry.statistic || entry.trained() == has_state) continue;
    fail(Category::checkpoint,
         "the checkpoint has {} optimizer state '{}' of '{}', which {}: resume with the freeze of "
         "its run, or start a new run from its weights with init.from",
         has_state ? "an" : "no", name, entry.name,
         has_state ? "this run freezes" : "its run has frozen and this one trains");
  }
}

// Readers of the wanted parameters: averages, of those that the group `average` has, and weights.
std::vector<GroupReader> averaged_readers(const ParameterLayout& layout, const SavedTensors& saved,
                                          const std::optional<size_t>& average,
                                          const GroupReader::Choice& wanted,
                                          const std::string& what) {
  TensorGroup averages = average ? saved.groups().at(*average) : TensorGroup{};
  auto is_averaged = [&](const ParameterEntry& entry) {
    return wanted(entry) && find_tensor(averages, entry.name);
  };
  auto is_plain = [&](const ParameterEntry& entry) {
    return wanted(entry) && !find_tensor(averages, entry.name);
  };
  std::vector<GroupReader> readers;
  if (average) readers.emplace_back(layout, saved, *average, is_averaged, what);
  readers.emplace_back(layout, saved, need_group(saved, weights_group), is_plain, what);
  return readers;
}

}  // namespace

GroupReader::GroupReader(const ParameterLayout& layout, const SavedTensors& saved, size_t group,
                         const Choice& wanted, const std::string& what)
    : saved_(saved), group_(group) {
  TensorGroup tensors = saved.groups().at(group);
  size_t known = 0;  // tensors of the group that are entries of the layout
  for (const auto& entry : layout.entries()) {
    auto found = find_tensor(tensors, entry.name);
    known += found ? 1 : 0;
    if (!wanted(entry)) continue;
    if (!found) {
      fail(Category::checkpoint,
           "{}: the checkpoint has no '{}'; use the config of its run, or another checkpoint", what,
           entry.name);
    }
    const Shape& shape = tensors.tensors[*found].shape;
    if (shape != entry.shape) {
      fail(Category::checkpoint,
           "{} '{}' has shape {} in the checkpoint, but {} in the model; use the config of its "
           "run, or another checkpoint",
           what, entry.name, to_string(shape), to_string(entry.shape));
    }
    sources_.push_back({{entry.offset, entry.offset + entry.elements()}, *found});
  }
  // All of the model's tensors were found: more are another model's.
  if (tensors.tensors.size() != known) {
    fail(Category::checkpoint,
         "{}: the checkpoint has {} tensors, but the model {}; use the config of its run, or "
         "another checkpoint",
         what, tensors.tensors.size(), known);
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

std::vector<GroupReader> slot_readers(const ParameterLayout& layout, const SavedTensors& saved,
                                      const std::string& name) {
  auto group = find_slot(saved, name);
  if (name == average_slot)
    return averaged_readers(layout, saved, group, &ParameterEntry::trained, name);
  if (!group) {
    fail(Category::checkpoint,
         "the checkpoint has no optimizer state '{}'; use the optimizer of its run, or start a new "
         "run",
         name);
  }
  require_same_freeze(layout, saved, *group, name);
  std::vector<GroupReader> readers;
  readers.emplace_back(layout, saved, *group, &ParameterEntry::trained, name);
  return readers;
}

void read_weights(const ParameterLayout& layout, const SavedTensors& saved, bool averaged,
                  float* flat) {
  auto average = averaged ? find_slot(saved, average_slot) : std::nullopt;
  FloatRange all = {0, layout.total_floats()};
  for (const GroupReader& reader :
       averaged_readers(layout, saved, average, &ParameterEntry::is_parameter, "weight"))
    reader.read(all, flat);
  GroupReader(layout, saved, need_group(saved, states_group), &ParameterEntry::is_statistic,
              "statistic")
      .read(all, flat);
}

// Groups 0 and 1 are weights and running statistics; slots follow, of what is trained.
TowerTrainerTensors::TowerTrainerTensors(const ParameterLayout& layout,
                                         const std::vector<std::string>& slots) {
  auto add = [&](const std::string& path, const GroupReader::Choice& wanted) {
    TensorGroup& group = groups_.emplace_back(TensorGroup{path, {}});
    std::vector<int64_t>& offsets = offsets_.emplace_back();
    for (const ParameterEntry& entry : layout.entries()) {
      if (!wanted(entry)) continue;
      group.tensors.push_back({entry.name, entry.shape});
      offsets.push_back(entry.offset);
    }
  };
  add(weights_group, &ParameterEntry::is_parameter);
  add(states_group, &ParameterEntry::is_statistic);
  for (const std::string& slot : slots) add(optimizer_groups + slot, &ParameterEntry::trained);
}

void TowerTrainerTensors::bind(const float* weights, ReadSlot read_slot) {
  weights_ = weights;
  read_slot_ = std::move(read_slot);
}

void TowerTrainerTensors::read(size_t group, size_t tensor, int64_t begin,
                               std::span<float> out) const {
  int64_t at = offsets_.at(group).at(tensor) + begin;
  if (group < 2) {
    std::copy_n(weights_ + at, out.size(), out.begin());
  } else {
    read_slot_(group - 2, {at, at + std::ssize(out)}, out.data());
  }
}

}  // namespace spire
