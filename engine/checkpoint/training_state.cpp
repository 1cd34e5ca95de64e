#include "engine/checkpoint/training_state.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "engine/base/adapter_names.h"
#include "engine/base/fail.h"
#include "engine/base/hash.h"

namespace spire {
namespace {

// Text of a field's value, and parse() back. A double is written by its bits, which loses nothing.
std::string canonical(int64_t value) {
  return fmt::format("{}", value);
}
std::string canonical(uint64_t value) {
  return fmt::format("{}", value);
}
std::string canonical(double value) {
  return hex(std::bit_cast<uint64_t>(value));
}
const std::string& canonical(const std::string& value) {
  return value;
}

void parse(const std::string& text, int64_t& value) {
  value = std::stoll(text);
}
void parse(const std::string& text, uint64_t& value) {
  value = std::stoull(text);
}
void parse(const std::string& text, double& value) {
  value = std::bit_cast<double>(uint64_t{std::stoull(text, nullptr, 16)});
}
void parse(const std::string& text, std::string& value) {
  value = text;
}

std::string lines_of(const StateMetadata& state) {
  std::string text;
  visit_metadata(state, [&](const char* key, const auto& value) {
    text += fmt::format("{}={}\n", key, canonical(value));
  });
  return text;
}

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

std::string others_text(const TrainingProgress& progress) {
  std::string text;
  for (const MetricValue& other : progress.evaluated_others)
    text += fmt::format("{}={}\n", to_string(other.metric), canonical(other.value));
  return text;
}

void read_others(const std::string& text, TrainingProgress& progress) {
  progress.evaluated_others.clear();
  std::istringstream lines(text);
  for (std::string word, bits; std::getline(lines, word, '=') && std::getline(lines, bits);) {
    auto metric = find_metric(word);
    uint64_t value = 0;
    auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), value, 16);
    if (metric && error == std::errc())
      progress.evaluated_others.push_back({*metric, std::bit_cast<double>(value)});
  }
}

std::string metadata_text(const StateMetadata& state) {
  return lines_of(state) + state.config_yaml;
}

void read_metadata_text(const std::string& text, StateMetadata& state) {
  size_t at = 0;
  visit_metadata(state, [&](const char* key, auto& value) {
    std::string start = std::string(key) + "=";
    size_t end = text.find('\n', at);
    require(end != std::string::npos && text.compare(at, start.size(), start) == 0,
            "metadata without '{}'", key);
    parse(text.substr(at + start.size(), end - at - start.size()), value);
    at = end + 1;
  });
  state.config_yaml = text.substr(at);
}

std::string metadata_checksum(const StateMetadata& state) {
  std::string text = lines_of(state);
  for (const auto& [library, version] : state.versions)
    text += fmt::format("version.{}={}\n", library, version);
  text += state.data_spec;
  text += state.config_yaml;
  text += state.tuning;
  text += state.guard;
  text += state.audit;
  text += others_text(state);
  return hex(hash64(text.data(), text.size()));
}

// The bounds of towers, batch_size and tower_threads are those of the config's keys.
void require_ranges(const StateMetadata& state) {
  constexpr int64_t count = int64_t{1} << 53;
  struct Range {
    const char* key;
    int64_t value, least, most;
  };
  for (const Range& each : {Range{"step", state.step, 0, count},
                            {"epoch", state.epoch, 0, count},
                            {"step_in_epoch", state.step_in_epoch, 0, count},
                            {"samples_seen", state.samples_seen, 0, count},
                            {"optimizer_steps", state.optimizer_steps, 0, count},
                            {"towers", state.towers, 1, 4096},
                            {"batch_size", state.batch_size, 1, 1'000'000},
                            {"tower_threads", state.tower_threads, 1, 1024},
                            {"loss_scale_steps", state.loss_scale_steps, 0, count},
                            {"skipped_steps", state.skipped_steps, 0, count},
                            {"skipped_in_row", state.skipped_in_row, 0, count},
                            {"best_step", state.best_step, -1, count},
                            {"evaluated_step", state.evaluated_step, -1, count},
                            {"waited_evaluations", state.early_stop.waited, -1, count}})
    if (each.value < each.least || each.value > each.most)
      fail(Category::checkpoint, "its {} is {}, expected {} to {}; no run wrote that", each.key,
           each.value, each.least, each.most);
  if (!(state.loss_scale > 0) || std::isinf(state.loss_scale))
    fail(Category::checkpoint, "its loss_scale is {}, expected a positive number",
         state.loss_scale);
}

std::vector<TensorGroup> TrainingState::groups() const {
  std::vector<TensorGroup> groups = {group_of(weights_group, weights),
                                     group_of(states_group, states)};
  for (const auto& [slot, tensors] : optimizer)
    groups.push_back(group_of(optimizer_groups + slot, tensors));
  return groups;
}

const std::vector<NamedTensor>& TrainingState::group(size_t index) const {
  // groups() lists weights and states before the slots.
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

std::optional<size_t> find_group(const SavedTensors& tensors, const std::string& path) {
  std::vector<TensorGroup> groups = tensors.groups();
  auto found = std::find_if(groups.begin(), groups.end(),
                            [&](const TensorGroup& group) { return group.path == path; });
  if (found == groups.end()) return std::nullopt;
  return static_cast<size_t>(found - groups.begin());
}

std::vector<TensorPlace> model_tensors(const SavedTensors& tensors, bool averaged) {
  std::vector<TensorGroup> groups = tensors.groups();
  std::map<std::string, TensorPlace> averages;  // by name
  if (averaged)
    if (auto group = find_group(tensors, std::string(optimizer_groups) + average_slot))
      for (size_t i = 0; i < groups[*group].tensors.size(); ++i)
        averages[groups[*group].tensors[i].name] = {*group, i};
  std::vector<TensorPlace> places;
  for (const char* path : {weights_group, states_group}) {
    auto group = find_group(tensors, path);
    if (!group) continue;
    for (size_t i = 0; i < groups[*group].tensors.size(); ++i) {
      auto found = averages.find(groups[*group].tensors[i].name);
      places.push_back(found == averages.end() ? TensorPlace{*group, i} : found->second);
    }
  }
  return places;
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
