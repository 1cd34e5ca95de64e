// Adds a parameter along the last axis; its gradient is the column sum of dy:
//   y[.., c] = x[.., c] + b[c]        db[c] = sum over all rows of dy[.., c]
#pragma once
#include <spire/op.h>

namespace spire {

// inputs: x (.., C) fp32, bf16 or fp16, b (C) fp32 parameter. outputs: y, like x.
class BiasOp : public Op {
 public:
  std::string_view name() const override { return "bias"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int index) const override { return index == 0; }
};

// inputs: dy (.., C). outputs: db (C) fp32, summed in an order that depends only on the shape.
class BiasBackwardOp : public Op {
 public:
  std::string_view name() const override { return "bias_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
};

// Makes the kernel on a GPU that writes the column sums of input `input`, x (.., C), to output
// `output` (C) fp32. x may have padded rows, whose padding is not read. For gradients of biases.
Kernel column_sums_cuda(const TensorSpec& x, size_t input, size_t output);

// In place on a GPU, adds b (C) fp32, unless null, to y (.., C), then applies a relu if `relu` is
// true. For convolutions whose engine fuses neither.
void add_bias_relu_cuda(const TensorSpec& spec, const float* b, bool relu, void* y, void* stream);

}  // namespace spire
