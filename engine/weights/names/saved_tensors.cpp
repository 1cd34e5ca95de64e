// A saved state's weights as tensors to write, by a table of names.
#include <map>
#include <memory>
#include <optional>

#include <spire/error.h>

#include "engine/weights/names/name_table.h"

namespace spire {
namespace {

class SavedWeights {
 public:
  SavedWeights(const SavedTensors& state, bool averaged) : state_(state), groups_(state.groups()) {
    for (TensorPlace place : model_tensors(state, averaged))
      places_[groups_[place.group].tensors[place.tensor].name] = place;
  }

  // Throws Error(checkpoint) unless the state has it in that shape.
  TensorPlace find(const NamedParameter& parameter) const {
    auto found = places_.find(parameter.name);
    if (found == places_.end())
      fail(Category::checkpoint, "the checkpoint has no '{}'; use the config of its run",
           parameter.name);
    const Shape& shape = groups_[found->second.group].tensors[found->second.tensor].shape;
    if (shape != parameter.shape)
      fail(Category::checkpoint,
           "'{}' has shape {} in the checkpoint, but {} in the model; use the config of its run",
           parameter.name, to_string(shape), to_string(parameter.shape));
    return found->second;
  }
  void read(TensorPlace place, int64_t begin, std::span<float> out) const {
    state_.read(place.group, place.tensor, begin, out);
  }

 private:
  const SavedTensors& state_;
  std::vector<TensorGroup> groups_;
  std::map<std::string, TensorPlace> places_;
};

using ReadPart = std::function<void(int64_t begin, std::span<float> out)>;

// A tensor in another order is made whole when its first elements are asked for, and dropped with
// its last.
ReadPart reader(const TensorPart& part, std::shared_ptr<const SavedWeights> saved,
                TensorPlace place) {
  if (part.axes.empty())
    return
        [=](int64_t begin, std::span<float> out) { saved->read(place, part.begin + begin, out); };
  auto whole = std::make_shared<std::vector<float>>();
  return [=](int64_t begin, std::span<float> out) {
    auto elements = static_cast<size_t>(part.elements());
    if (whole->empty()) {
      std::vector<float> own(elements);
      saved->read(place, part.begin, own);
      whole->resize(elements);
      to_file(part, own, *whole);
    }
    std::copy_n(whole->begin() + begin, out.size(), out.begin());
    if (begin + std::ssize(out) == part.elements()) std::vector<float>().swap(*whole);
  };
}

}  // namespace

std::vector<TensorToWrite> tensors_to_write(const NameTable& table, const SavedTensors& state,
                                            bool averaged) {
  auto saved = std::make_shared<const SavedWeights>(state, averaged);
  std::vector<TensorToWrite> tensors;
  for (const NamedParameter& parameter : table.parameters) {
    TensorPlace place = saved->find(parameter);
    for (const TensorPart& part : parameter.parts)
      tensors.push_back({part.name, part.shape, reader(part, saved, place)});
  }
  return tensors;
}

}  // namespace spire
