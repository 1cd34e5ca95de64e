#include "engine/graph/parameter_layout.h"

#include <algorithm>

#include "engine/base/hash.h"

namespace spire::inline graph {

ParameterLayout::ParameterLayout(const Graph& graph,
                                 const std::vector<ParameterGradient>& gradients) {
  for (const auto& [parameter, gradient] : gradients) {
    const Tensor& tensor = graph.tensor(parameter);
    append({.name = tensor.name, .shape = tensor.spec.shape, .initialize = tensor.initialize});
  }
  trained_floats_ = total_floats_;
  for (const StateUpdate& update : graph.state_updates()) {
    const Tensor& tensor = graph.tensor(update.state);
    append({.name = tensor.name,
            .shape = tensor.spec.shape,
            .trained = false,
            .momentum = update.momentum,
            .initialize = tensor.initialize});
  }
}

// Rounds sizes up to 16 floats, one cache line.
void ParameterLayout::append(ParameterEntry entry) {
  entry.offset = total_floats_;
  total_floats_ += (entry.elements() + 15) / 16 * 16;
  entries_.push_back(std::move(entry));
}

const ParameterEntry& ParameterLayout::find(const std::string& name) const {
  auto entry = std::find_if(entries_.begin(), entries_.end(),
                            [&](const ParameterEntry& e) { return e.name == name; });
  require(entry != entries_.end(), "no parameter is named '{}'", name);
  return *entry;
}

int64_t ParameterLayout::parameter_count() const {
  int64_t count = 0;
  for (const auto& entry : entries_) count += entry.trained ? entry.elements() : 0;
  return count;
}

void ParameterLayout::initialize(uint64_t seed, float* weights) const {
  for (const auto& entry : entries_) {
    RandomStream random(seed, Purpose::initialize, hash64(entry.name.data(), entry.name.size()));
    entry.initialize(random, {weights + entry.offset, static_cast<size_t>(entry.elements())});
  }
}

uint64_t ParameterLayout::hash(const float* weights) const {
  std::vector<const ParameterEntry*> by_name;
  for (const auto& entry : entries_) by_name.push_back(&entry);
  std::sort(by_name.begin(), by_name.end(), [](auto* a, auto* b) { return a->name < b->name; });
  uint64_t hash = 0;
  for (const auto* entry : by_name) {
    hash = hash64(entry->name.data(), entry->name.size(), hash);
    hash = hash64(weights + entry->offset, static_cast<size_t>(entry->elements()) * sizeof(float),
                  hash);
  }
  return hash;
}

}  // namespace spire::inline graph
