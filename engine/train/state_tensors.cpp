#include <spire/train/state_tensors.h>

#include <algorithm>

#include <spire/base/error.h>

namespace spire {

void copy_out(const ParameterLayout& layout, const float* buffer, bool trained,
              std::vector<NamedTensor>& tensors) {
  size_t used = 0;
  for (const auto& entry : layout.entries()) {
    if (entry.trained != trained) continue;
    if (used == tensors.size()) tensors.push_back({entry.name, entry.shape, {}});
    const float* begin = buffer + entry.offset;
    tensors[used++].values.assign(begin, begin + entry.elements());
  }
}

void copy_in(const ParameterLayout& layout, const std::vector<NamedTensor>& tensors,
             const std::string& what, bool trained, float* buffer) {
  size_t expected = 0;
  for (const auto& entry : layout.entries()) {
    if (entry.trained != trained) continue;
    ++expected;
    auto found = std::find_if(tensors.begin(), tensors.end(),
                              [&](const NamedTensor& t) { return t.name == entry.name; });
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
    std::copy(found->values.begin(), found->values.end(), buffer + entry.offset);
  }
  if (tensors.size() != expected) {
    fail(Category::checkpoint,
         "{}: the checkpoint has {} tensors, but the model {}; use the config of its run, or "
         "another checkpoint",
         what, tensors.size(), expected);
  }
}

const std::vector<NamedTensor>* find_slot(const TrainingState& state, const std::string& name) {
  for (const auto& [slot, tensors] : state.optimizer) {
    if (slot == name) return &tensors;
  }
  return nullptr;
}

}  // namespace spire
