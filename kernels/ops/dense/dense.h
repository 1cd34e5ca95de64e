// Fully connected layer and its gradient:
//   y[.., n] = b[n] + sum_k x[.., k] w[n, k]
// x (.., K) is fp32, bf16 or fp16; w (N, K) and the optional b (N) are fp32 parameters; y (.., N)
// has x's dtype and is summed in fp32. The leading axes of x together are the M rows.
#pragma once
#include <spire/op.h>

namespace spire {

struct DenseAttributes {
  bool bias = false;
  bool relu = false;
};

// Inputs: x, w, and b if `bias`. Output: y, through a relu if `relu`.
class DenseOp : public OpWith<DenseAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "dense"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;
  void gradient(GradientBuilder& builder) const override;
  std::unique_ptr<Op> with_relu() const override;
};

// Inputs: dy (the gradient of y before the relu), w. Output: dx = dy w.
class DenseBackwardDataOp : public Op {
 public:
  std::string_view name() const override { return "dense_backward_data"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;
};

// Inputs: x, dy. Outputs: dw = dy^T x (N, K) and, if `bias`, db (N), dy's column sum; both fp32.
class DenseBackwardWeightsOp : public Op {
 public:
  explicit DenseBackwardWeightsOp(bool bias) : bias_(bias) {}
  bool bias() const { return bias_; }

  std::string_view name() const override { return "dense_backward_weights"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;

 private:
  bool bias_;
};

}  // namespace spire
