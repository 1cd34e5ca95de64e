// Class labels as rows of zeros with a one, or the class's weight, at the label; a label outside
// [0, classes) gives NaN.
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
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
};

}  // namespace spire
