// The trainer's state out of and into checkpoints.
#include <algorithm>

#include <spire/base/hash.h>
#include <spire/train/trainer.h>

namespace spire {
namespace {

// Copies entry values out of a flat buffer; reuses the tensors that a former snapshot left.
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
      fail(Category::checkpoint, "{}: the checkpoint has no '{}'; is it of another model?", what,
           entry.name);
    }
    if (found->shape != entry.shape) {
      fail(Category::checkpoint,
           "{} '{}' has shape {} in the checkpoint, {} in the model; is it of "
           "another model?",
           what, entry.name, to_string(found->shape), to_string(entry.shape));
    }
    std::copy(found->values.begin(), found->values.end(), buffer + entry.offset);
  }
  if (tensors.size() != expected) {
    fail(Category::checkpoint,
         "{}: the checkpoint has {} tensors, the model {}; is it of another model?", what,
         tensors.size(), expected);
  }
}

}  // namespace

void Trainer::snapshot(TrainingState& state) const {
  copy_out(layout_, master().values(), true, state.weights);
  copy_out(layout_, master().values(), false, state.states);
  auto names = update_->optimizer().slots();
  state.optimizer.resize(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    state.optimizer[i].first = names[i];
    copy_out(layout_, update_->slots()[i].as<float>(), true, state.optimizer[i].second);
  }
  state.towers = placement_.towers;
  state.batch_size = placement_.batch_size;
  state.tower_threads = placement_.tower_threads;
  state.parameter_hash = hex(parameter_hash());
}

void Trainer::restore(const TrainingState& state) {
  copy_in(layout_, state.weights, "weight", true, master().values());
  copy_in(layout_, state.states, "statistic", false, master().values());
  auto names = update_->optimizer().slots();
  for (size_t i = 0; i < names.size(); ++i) {
    auto slot = std::find_if(state.optimizer.begin(), state.optimizer.end(),
                             [&](const auto& s) { return s.first == names[i]; });
    if (slot == state.optimizer.end()) {
      fail(Category::checkpoint,
           "the checkpoint has no optimizer state '{}'; was it of another optimizer?", names[i]);
    }
    copy_in(layout_, slot->second, names[i], true, update_->slots()[i].as<float>());
  }
  renew_replicas();
}

}  // namespace spire
