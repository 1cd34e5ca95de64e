#include <spire/graph/packed_forms.h>

namespace spire {

size_t PackedForms::add(const ParameterEntry& entry, Packing packing, bool step) {
  for (Form& known : forms_) {
    if (known.parameter_offset != entry.offset || known.form != packing.form) continue;
    known.step = known.step || step;
    return known.offset;
  }
  forms_.push_back({entry.offset, std::move(packing.form), bytes_, packing.bytes, step,
                    std::move(packing.pack)});
  bytes_ += align_up(packing.bytes);
  return forms_.back().offset;
}

void PackedForms::pack_for_step(const float* weights, int part, int parts) {
  pack_some(weights, true, part, parts);
}

void PackedForms::pack_for_evaluation(const float* weights, int part, int parts) {
  pack_some(weights, false, part, parts);
}

// A form belongs to the part in which its first byte lies when all bytes are cut evenly.
void PackedForms::pack_some(const float* weights, bool step, int part, int parts) {
  size_t total = 0, before = 0;
  for (const Form& form : forms_) total += form.step == step ? form.bytes : 0;
  for (const Form& form : forms_) {
    if (form.step != step) continue;
    auto owner = static_cast<int>(before * static_cast<size_t>(parts) / total);
    before += form.bytes;
    if (owner == part) form.pack(weights + form.parameter_offset, buffer_.data() + form.offset);
  }
}

}  // namespace spire
