// Softmax and cross entropy in one, for class labels. For a row x of C logits with label l:
//   logsumexp = log sum_c e^(x_c)    loss = logsumexp - sum_c t_c x_c
//   t_c = (1 - s) [c == l] + s / C, with s the label smoothing (Szegedy et al., 2016)
//   dx_c = (e^(x_c - logsumexp) - t_c) * gradient_scale / R
// A sample has R rows, R = 1 for one label a sample; its loss is their mean. In the mixed form
// (Zhang et al., "mixup", 2018) a row has two labels: in t, m [c == l] + (1 - m) [c == o] is in the
// place of [c == l], with m the mix of its sample.
//
// Probabilities are never stored. logits (N R, C) fp32 or bf16, computed in fp32; labels and
// other_labels (N R) i32, mix (N) f32. A label outside [0, C), or a mix outside [0, 1], makes the
// loss NaN.
#pragma once
#include "kernels/op.h"

namespace spire::inline kernels {

struct SoftmaxCrossEntropyAttributes {
  float label_smoothing = 0;    // in [0, 1)
  int64_t rows_per_sample = 1;  // R
  bool mixed = false;           // two labels a row
};

// inputs: logits, labels [, other_labels, mix]. outputs: loss (1) f64, the sum over rows / R;
// correct (1) f64, the rows whose label (the heavier one) is the first largest logit / R; logsumexp
// (N R) f32. A root: its gradient ignores what comes after.
class SoftmaxCrossEntropyOp : public OpWith<SoftmaxCrossEntropyAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "softmax_cross_entropy"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: logits, labels, logsumexp [, other_labels, mix]. outputs: dlogits, like logits.
class SoftmaxCrossEntropyBackwardOp : public OpWith<SoftmaxCrossEntropyAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "softmax_cross_entropy_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool may_overwrite(int index) const override { return index == 0; }
};

}  // namespace spire::inline kernels
