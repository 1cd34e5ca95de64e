// Zeros behind the last axis: y[.., c] = x[.., c] for the channels of x, 0 for those behind them.
// The gradient is the slice of the first channels. fp32 or bf16.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

// inputs: x (.., C). outputs: y (.., channels), channels > C.
class PadChannelsOp : public Op {
 public:
  explicit PadChannelsOp(int64_t channels) : channels_(channels) {}

  std::string_view name() const override { return "pad_channels"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  int64_t channels_;
};

}  // namespace spire::inline kernels
