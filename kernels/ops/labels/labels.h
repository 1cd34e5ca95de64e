// Ops on class labels, without gradients. one_hot: rows of zeros with 1, or the class's weight, at
// the label; a label outside [0, classes) makes the row NaN. exact_match: for samples with any
// number of labels, whether a model predicts all of them right; it predicts label k if output k is
// above 0.
#pragma once
#include <vector>

#include <spire/op.h>

namespace spire {

struct OneHotAttributes {
  int64_t classes = 0;
  DType dtype = DType::f32;         // f32, bf16 or f16
  std::vector<float> weights = {};  // (classes), what stands at the label; empty: 1
};

// inputs: labels (N) i32. outputs: (N, classes) of the dtype. No gradient.
class OneHotOp : public OpWith<OneHotAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "one_hot"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
};

// inputs: outputs (N, K) fp32, bf16 or fp16; labels (N, K) f32, where above 1/2 means that the
// sample has the label. outputs: (N) f32, 1 for a sample all of whose K labels are right, else 0;
// NaN if an output is NaN. No gradient.
class ExactMatchOp : public Op {
 public:
  std::string_view name() const override { return "exact_match"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
};

// Returns the output of ExactMatchOp for one sample. outputs, labels: (count).
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
