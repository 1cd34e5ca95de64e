#include "engine/checkpoint/merged_tensors.h"

#include <map>
#include <string>
#include <utility>

#include <spire/error.h>

#include "engine/base/adapter_names.h"

namespace spire {
namespace {

// Where each adapter is, by its name.
std::map<std::string, TensorPlace> adapters_of(const SavedTensors& saved, bool averaged) {
  std::vector<TensorGroup> groups = saved.groups();
  std::map<std::string, TensorPlace> places;
  for (TensorPlace place : model_tensors(saved, averaged)) {
    const std::string& name = groups[place.group].tensors[place.tensor].name;
    if (!adapted_layer(name).empty()) places[name] = place;
  }
  return places;
}

}  // namespace

MergedTensors::MergedTensors(std::shared_ptr<const SavedTensors> saved, double factor,
                             bool averaged)
    : saved_(std::move(saved)), factor_(factor) {
  auto places = adapters_of(*saved_, averaged);
  std::vector<TensorGroup> groups = saved_->groups();
  for (const TensorGroup& group : groups) {
    groups_.push_back({group.path, {}});
    kept_.emplace_back();
    for (size_t i = 0; i < group.tensors.size(); ++i) {
      const TensorEntry& entry = group.tensors[i];
      if (!adapted_layer(entry.name).empty()) continue;
      Kept kept{i, {}};
      std::string layer = entry.name.ends_with(weight_suffix)
                              ? entry.name.substr(0, entry.name.size() - weight_suffix.size())
                              : "";
      auto a = places.find(fmt::format("{}{}{}", layer, lora_a, weight_suffix));
      auto b = places.find(fmt::format("{}{}{}", layer, lora_b, weight_suffix));
      if (group.path == weights_group && a != places.end() && b != places.end()) {
        const Shape& shape = groups[a->second.group].tensors[a->second.tensor].shape;
        kept.adapters = Adapters{{}, b->second, shape[0], shape[1]};
        kept.adapters->a.resize(static_cast<size_t>(shape.elements()));
        saved_->read(a->second.group, a->second.tensor, 0, kept.adapters->a);
      }
      groups_.back().tensors.push_back(entry);
      kept_.back().push_back(kept);
    }
  }
}

void MergedTensors::read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const {
  const Kept& kept = kept_.at(group).at(tensor);
  saved_->read(group, kept.tensor, begin, out);
  if (kept.adapters) add_product(*kept.adapters, begin, out);
}

// Adds elements of factor * B A, row by row, each summed in fp64.
void MergedTensors::add_product(const Adapters& adapters, int64_t begin,
                                std::span<float> out) const {
  const auto& [a, b_place, rank, inputs] = adapters;
  std::vector<float> b(static_cast<size_t>(rank));
  for (size_t done = 0; done < out.size();) {
    int64_t at = begin + static_cast<int64_t>(done), column = at % inputs;
    saved_->read(b_place.group, b_place.tensor, at / inputs * rank, b);
    for (; column < inputs && done < out.size(); ++column, ++done) {
      double sum = 0;
      for (int64_t r = 0; r < rank; ++r)
        sum +=
            double{b[static_cast<size_t>(r)]} * double{a[static_cast<size_t>(r * inputs + column)]};
      out[done] = static_cast<float>(double{out[done]} + factor_ * sum);
    }
  }
}

}  // namespace spire
