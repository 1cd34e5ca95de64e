// Fully connected layer and its gradient:
//   y[.., n] = b[n] + sum_k x[.., k] w[n, k]
// x (.., K) fp32 or bf16, its leading axes together the rows M; w (N, K) fp32 parameter, b (N) fp32
// parameter or absent; y (.., N) of x's dtype, summed in fp32.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

struct DenseAttributes {
  bool bias = false;
  bool relu = false;
};

// Inputs x, w and b if `bias`; output y, through a relu if `relu`.
class DenseOp : public OpWith<DenseAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "dense"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  int64_t multiply_adds(std::span<const TensorSpec> inputs,
                        std::span<const TensorSpec> outputs) const override;
  void gradient(GradientBuilder& builder) const override;
  std::unique_ptr<Op> with_relu() const override;
};

// Inputs dy (before the relu), w; output dx = dy w.
class DenseBackwardDataOp : public Op {
 public:
  std::string_view name() const override { return "dense_backward_data"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  int64_t multiply_adds(std::span<const TensorSpec> inputs,
                        std::span<const TensorSpec> outputs) const override;
};

// Inputs x, dy; outputs dw = dy^T x (N, K) and db (N), dy's column sum, if `bias`; both fp32.
class DenseBackwardWeightsOp : public Op {
 public:
  explicit DenseBackwardWeightsOp(bool bias) : bias_(bias) {}
  bool bias() const { return bias_; }

  std::string_view name() const override { return "dense_backward_weights"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  int64_t multiply_adds(std::span<const TensorSpec> inputs,
                        std::span<const TensorSpec> outputs) const override;

 private:
  bool bias_;
};

}  // namespace spire::inline kernels
