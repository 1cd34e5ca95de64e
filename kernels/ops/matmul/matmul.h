// Batched product of two activations, either of them transposed:
//   y[.., m, n] = sum_k a'[.., m, k] b'[.., k, n]
// a' is a (.., M, K), or with transpose_a the transpose of a (.., K, M); b' likewise. Leading axes
// of a and b are equal. y has the dtype of a and b and is summed in fp32.
#pragma once
#include <spire/op.h>

namespace spire {

struct MatmulAttributes {
  bool transpose_a = false;
  bool transpose_b = false;
};

class MatmulOp : public OpWith<MatmulAttributes> {  // inputs: a, b. outputs: y.
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "matmul"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

}  // namespace spire
