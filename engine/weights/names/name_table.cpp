#include "engine/weights/names/name_table.h"

#include <array>
#include <map>
#include <memory>
#include <optional>

#include "engine/base/fail.h"
#include "engine/weights/names/known_names.h"

namespace spire {
namespace {

// Calls copy(in the file, in the parameter, count, stride in the file) for each row along the
// parameter's last axis.
template <typename Copy>
void for_each_row(const TensorPart& part, const Copy& copy) {
  auto rank = part.axes.size();
  std::array<int64_t, Shape::max_rank> stride{}, extent{}, step{}, at{};
  int64_t elements = 1;
  for (int axis = part.view.rank(); axis-- > 0;) {
    stride[static_cast<size_t>(axis)] = elements;
    elements *= part.view[axis];
  }
  require(elements == part.elements() && part.view.rank() == std::ssize(part.axes),
          "{}: a view of other elements", part.name);
  if (elements == 0) return;
  for (size_t k = 0; k < rank; ++k) {
    extent[k] = part.view[part.axes[k]];
    step[k] = stride[static_cast<size_t>(part.axes[k])];
  }
  int64_t row = extent[rank - 1], file = 0;
  for (int64_t done = 0; done < elements; done += row) {
    copy(file, done, row, step[rank - 1]);
    for (size_t k = rank - 1; k-- > 0;) {
      file += step[k];
      if (++at[k] < extent[k]) break;
      file -= step[k] * extent[k];
      at[k] = 0;
    }
  }
}

void expect_sizes(const TensorPart& part, size_t file, size_t parameter) {
  auto elements = static_cast<size_t>(part.elements());
  require(file == elements && parameter == elements, "{}: {} and {} elements in place of {}",
          part.name, file, parameter, elements);
}

}  // namespace

void to_parameter(const TensorPart& part, std::span<const float> file, std::span<float> parameter) {
  expect_sizes(part, file.size(), parameter.size());
  if (part.axes.empty()) return void(std::copy(file.begin(), file.end(), parameter.begin()));
  for_each_row(part, [&](int64_t from, int64_t to, int64_t count, int64_t step) {
    const float* source = file.data() + from;
    float* row = parameter.data() + to;
    for (int64_t i = 0; i < count; ++i) row[i] = source[i * step];
  });
}

void to_file(const TensorPart& part, std::span<const float> parameter, std::span<float> file) {
  expect_sizes(part, file.size(), parameter.size());
  if (part.axes.empty()) return void(std::copy(parameter.begin(), parameter.end(), file.begin()));
  for_each_row(part, [&](int64_t to, int64_t from, int64_t count, int64_t step) {
    const float* row = parameter.data() + from;
    float* target = file.data() + to;
    for (int64_t i = 0; i < count; ++i) target[i * step] = row[i];
  });
}

std::vector<TensorEntry> own_tensors(const Graph& graph) {
  std::vector<TensorEntry> tensors;
  for (Role role : {Role::parameter, Role::state})
    for (Value value : graph.values_of(role))
      tensors.push_back({graph.tensor(value).name, graph.spec(value).shape});
  return tensors;
}

NameTable spire_names(const Graph& graph) {
  NameTable table{.names = WeightNames::spire, .parameters = {}};
  for (const TensorEntry& own : own_tensors(graph))
    table.parameters.push_back({own.name, own.shape, {{.name = own.name, .shape = own.shape}}});
  return table;
}

std::string_view state_dict_word(std::string_view word) {
  if (word == "gamma") return "weight";
  return word == "beta" ? "bias" : word;
}

NameTable pytorch_names(const Graph& graph) {
  NameTable table{
      .names = WeightNames::pytorch, .parameters = {}, .without_use = {"*num_batches_tracked"}};
  auto orders = feature_orders(graph);
  for (const TensorEntry& own : own_tensors(graph)) {
    size_t word = own.name.rfind('.') + 1;
    std::string name =
        own.name.substr(0, word).append(state_dict_word(std::string_view(own.name).substr(word)));
    table.parameters.push_back(
        {own.name, own.shape, {channels_first(name, own.shape, orders[own.name])}});
  }
  return table;
}

WeightNames usual_names(const ModelConfig& model) {
  if (model.name == "gpt" || model.name == "vit" || model.name == "llama")
    return WeightNames::huggingface;
  bool imagenet = model.variant == ModelConfig::Variant::imagenet &&
                  model.shortcut == ModelConfig::Shortcut::projection;
  return model.name == "resnet" && imagenet ? WeightNames::torchvision : WeightNames::pytorch;
}

NameTable name_table(WeightNames names, const ModelConfig& model, const Graph& graph) {
  switch (names) {
    case WeightNames::automatic:
      return name_table(usual_names(model), model, graph);
    case WeightNames::spire:
      return spire_names(graph);
    case WeightNames::pytorch:
      return pytorch_names(graph);
    case WeightNames::torchvision:
      return torchvision_names(model, graph);
    case WeightNames::huggingface:
      return huggingface_names(model, graph);
  }
  fail(Category::unexpected, "unknown names");
}

// A saved state's weights as tensors to write, by a table of names.

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
