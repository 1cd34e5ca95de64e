// Whether a model of labels, of which a sample has none or several, finds all of them right: label
// k is found where output k is above 0.
#pragma once
#include <spire/op.h>

namespace spire {

// inputs: outputs (N, K) fp32, bf16 or fp16; labels (N, K) f32, there if above 1/2. outputs: (N)
// f32, 1 for a sample all of whose K labels are right, else 0; NaN if an output is NaN. No
// gradient.
class ExactMatchOp : public Op {
 public:
  std::string_view name() const override { return "exact_match"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
};

// Of one sample.
template <typename T>
SPIRE_HOST_DEVICE float exact_match(const T* outputs, const float* labels, int64_t count) {
  bool match = true;
  float nan = 0;
  for (int64_t k = 0; k < count; ++k) {
    auto output = static_cast<float>(outputs[k]);
    match = match && (output > 0) == (labels[k] > 0.5f);
    if (output != output) nan = output;
  }
  return nan != nan ? nan : match ? 1.0f : 0.0f;
}

}  // namespace spire
