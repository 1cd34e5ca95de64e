// Repeats one tensor for every sample of a batch; its gradient is the sum over the samples:
//   y[n, ..] = x[..]      dx[..] = sum_n dy[n, ..]
// x (..) is a parameter or an activation; x and y (N, ..) are each fp32, bf16 or fp16.
#pragma once
#include <spire/op.h>

namespace spire {

struct ExpandAttributes {
  int64_t count = 1;         // N
  DType dtype = DType::f32;  // of the output
};

class ExpandOp : public OpWith<ExpandAttributes> {  // inputs: x. outputs: y.
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "expand"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy. outputs: dx of `dtype`, summed in fp32 in an order that depends only on the shape.
class ExpandBackwardOp : public Op {
 public:
  explicit ExpandBackwardOp(DType dtype) : dtype_(dtype) {}

  std::string_view name() const override { return "expand_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;

 private:
  DType dtype_;
};

}  // namespace spire
