#include "engine/graph/packed_weights.h"

#include <algorithm>

namespace spire::inline graph {

// A form that any step reads is packed for steps, whoever registered it first.
size_t PackedWeights::add(const ParameterEntry& entry, Packing packing, bool step) {
  floats_ = std::max(floats_, entry.offset + entry.elements());
  for (Form& known : forms_) {
    if (known.parameter_offset != entry.offset || known.packing.form != packing.form) continue;
    known.step = known.step || step;
    return known.offset;
  }
  size_t offset = bytes_;
  bytes_ += align_up(packing.bytes);
  forms_.push_back({entry.offset, offset, entry.elements(), step, std::move(packing)});
  return offset;
}

void PackedWeights::pack_for_step(const float* weights, int part, int parts, Stream& stream) {
  pack_forms(weights, true, part, parts, stream);
}

void PackedWeights::pack_for_evaluation(const float* weights, int part, int parts, Stream& stream) {
  pack_forms(weights, false, part, parts, stream);
}

// Part i of n has the plain weights [i / n, (i + 1) / n). A unit belongs to the part in which its
// first weight is, so the parts pack every unit exactly once.
void PackedWeights::pack_forms(const float* weights, bool step, int part, int parts,
                               Stream& stream) {
  int64_t begin = floats_ * part / parts, end = floats_ * (part + 1) / parts;
  for (const Form& form : forms_) {
    if (form.step != step) continue;
    // Returns the first unit of the form that begins at or after plain weight `at`.
    auto unit_from = [&](int64_t at) {
      int64_t inside = std::clamp<int64_t>(at - form.parameter_offset, 0, form.elements);
      return (inside * form.packing.units + form.elements - 1) / form.elements;
    };
    int64_t first = unit_from(begin), last = unit_from(end);
    if (first == last) continue;
    form.packing.pack_units(weights + form.parameter_offset, memory_->as<std::byte>() + form.offset,
                            first, last, stream.native());
  }
}

}  // namespace spire::inline graph
