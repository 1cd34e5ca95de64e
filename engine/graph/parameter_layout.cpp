#include "engine/graph/parameter_layout.h"

#include <algorithm>
#include <unordered_set>

#include "engine/base/fail.h"
#include "engine/base/hash.h"

namespace spire {

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
            .statistic = true,
            .momentum = update.momentum,
            .initialize = tensor.initialize});
  }
  gradient_floats_ = total_floats_;
  append_frozen(graph, false);
  model_floats_ = total_floats_;
  append_frozen(graph, true);
}

// What no gradient and no state update changes, of the model or of its teacher.
void ParameterLayout::append_frozen(const Graph& graph, bool teacher) {
  std::unordered_set<std::string> known;
  for (const auto& entry : entries_) known.insert(entry.name);
  for (Role role : {Role::parameter, Role::state}) {
    for (Value value : graph.values_of(role)) {
      const Tensor& tensor = graph.tensor(value);
      if (tensor.teacher != teacher || known.contains(tensor.name)) continue;
      append({.name = tensor.name,
              .shape = tensor.spec.shape,
              .statistic = role == Role::state,
              .frozen = true,
              .initialize = tensor.initialize,
              .teacher = teacher});
    }
  }
}

// Rounds sizes up to 16 floats, one cache line.
void ParameterLayout::append(ParameterEntry entry) {
  entry.offset = total_floats_;
  total_floats_ += (entry.elements() + 15) / 16 * 16;
  entries_.push_back(std::move(entry));
}

std::span<const ParameterEntry> ParameterLayout::entries_with_gradients() const {
  auto first_frozen = std::ranges::find(entries_, true, &ParameterEntry::frozen);
  return {entries_.begin(), first_frozen};
}

const ParameterEntry& ParameterLayout::find(const std::string& name) const {
  auto entry = std::find_if(entries_.begin(), entries_.end(),
                            [&](const ParameterEntry& e) { return e.name == name; });
  require(entry != entries_.end(), "no parameter is named '{}'", name);
  return *entry;
}

size_t ParameterLayout::entry_at(size_t floats) const {
  auto after =
      std::ranges::upper_bound(entries_, static_cast<int64_t>(floats), {}, &ParameterEntry::offset);
  return static_cast<size_t>(after - entries_.begin()) - 1;
}

int64_t ParameterLayout::parameter_count() const {
  int64_t count = 0;
  for (const auto& entry : entries_) count += entry.is_parameter() ? entry.elements() : 0;
  return count;
}

int64_t ParameterLayout::frozen_count() const {
  int64_t count = 0;
  for (const auto& entry : entries_)
    count += entry.frozen && entry.is_parameter() ? entry.elements() : 0;
  return count;
}

// Draws a piece at a time, so that the passes of an initializer over it find it in the cache.
void ParameterLayout::initialize(uint64_t seed, float* weights, int part, int parts) const {
  constexpr int64_t piece = 4096;
  int64_t begin = total_floats_ * part / parts, end = total_floats_ * (part + 1) / parts;
  for (const auto& entry : entries_) {
    int64_t from = std::max(begin, entry.offset);
    int64_t to = std::min(end, entry.offset + entry.elements());
    RandomStream random(seed, Purpose::initialize, hash64(entry.name.data(), entry.name.size()));
    for (int64_t at = from; at < to; at += piece) {
      auto count = static_cast<size_t>(std::min(piece, to - at));
      entry.initialize(random, at - entry.offset, {weights + at, count});
    }
  }
}

std::vector<const ParameterEntry*> ParameterLayout::by_name() const {
  std::vector<const ParameterEntry*> entries;
  for (const auto& entry : entries_)
    if (!entry.teacher) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](auto* a, auto* b) { return a->name < b->name; });
  return entries;
}

std::vector<uint64_t> ParameterLayout::hashes(const float* weights) const {
  std::vector<uint64_t> hashes;
  for (const auto* entry : by_name())
    hashes.push_back(
        hash64(weights + entry->offset, static_cast<size_t>(entry->elements()) * sizeof(float)));
  return hashes;
}

uint64_t ParameterLayout::hash(const float* weights) const {
  uint64_t hash = 0;
  for (const auto* entry : by_name()) {
    hash = hash64(entry->name.data(), entry->name.size(), hash);
    hash = hash64(weights + entry->offset, static_cast<size_t>(entry->elements()) * sizeof(float),
                  hash);
  }
  return hash;
}

// A form that any step reads is packed for steps, whoever registered it first.
size_t PackedWeights::add(const ParameterEntry& entry, Packing packing, bool step) {
  Extent& extent = entry.frozen ? frozen_ : changing_;
  if (entry.frozen && extent.end == 0) extent.begin = entry.offset;
  extent.begin = std::min(extent.begin, entry.offset);
  extent.end = std::max(extent.end, entry.offset + entry.elements());
  for (Form& known : forms_) {
    if (known.parameter_offset != entry.offset || known.packing.form != packing.form) continue;
    known.step = known.step || step;
    return known.offset;
  }
  size_t offset = bytes_;
  bytes_ += align_up(packing.bytes);
  forms_.push_back(
      {entry.offset, offset, entry.elements(), step, entry.frozen, std::move(packing)});
  return offset;
}

PackedWeights PackedWeights::like() const {
  PackedWeights other;
  other.forms_ = forms_;
  other.changing_ = changing_;
  other.frozen_ = frozen_;
  other.bytes_ = bytes_;
  return other;
}

void PackedWeights::pack_for_step(const float* weights, int part, int parts, Stream& stream) {
  for (const Form& form : forms_)
    if (form.packs_every_step()) pack_form(form, weights, share_of(changing_, part, parts), stream);
}

void PackedWeights::pack_for_evaluation(const float* weights, int part, int parts, Stream& stream) {
  for (const Form& form : forms_)
    if (!form.step && !form.frozen)
      pack_form(form, weights, share_of(changing_, part, parts), stream);
}

void PackedWeights::pack_frozen(const float* weights, int part, int parts, Stream& stream) {
  for (const Form& form : forms_)
    if (form.frozen) pack_form(form, weights, share_of(frozen_, part, parts), stream);
}

std::vector<PackedWeights::Unit> PackedWeights::step_units() const {
  std::vector<Unit> units;
  for (size_t f = 0; f < forms_.size(); ++f) {
    const Form& form = forms_[f];
    if (!form.packs_every_step()) continue;
    int64_t each = form.packing.unit_floats > 0 ? form.packing.unit_floats : form.elements;
    for (int64_t i = 0; i < form.packing.units; ++i) {
      int64_t first = form.packing.unit_floats > 0 ? i * each : 0;
      int64_t last = std::min(form.elements, first + each);
      units.push_back({f, i, form.parameter_offset + first, form.parameter_offset + last});
    }
  }
  return units;
}

void PackedWeights::pack(const Unit& unit, const float* weights, Stream& stream) {
  const Form& form = forms_[unit.form];
  form.packing.pack_units(weights + form.parameter_offset, memory_->as<std::byte>() + form.offset,
                          unit.index, unit.index + 1, stream.native());
}

PackedWeights::Extent PackedWeights::share_of(Extent all, int part, int parts) {
  int64_t size = all.end - all.begin;
  return {all.begin + size * part / parts, all.begin + size * (part + 1) / parts};
}

// A unit belongs to the share in which its first weight is, so the parts pack every unit exactly
// once.
void PackedWeights::pack_form(const Form& form, const float* weights, Extent share,
                              Stream& stream) {
  // Returns the first unit of the form that begins at or after plain weight `at`.
  auto unit_from = [&](int64_t at) {
    int64_t inside = std::clamp<int64_t>(at - form.parameter_offset, 0, form.elements);
    return (inside * form.packing.units + form.elements - 1) / form.elements;
  };
  int64_t first = unit_from(share.begin), last = unit_from(share.end);
  if (first == last) return;
  form.packing.pack_units(weights + form.parameter_offset, memory_->as<std::byte>() + form.offset,
                          first, last, stream.native());
}

}  // namespace spire
