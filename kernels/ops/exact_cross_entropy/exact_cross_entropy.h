// Softmax cross entropy of precision: exact. The bits of a row depend only on its logits and label:
// one function computes a row, in fp64 and in the order of its classes, on every processor. Losses
// are rounded to multiples of 2^-30, so their sum has no order. softmax_cross_entropy.h has the
// formulas; here a sample has one row, each row a label, and there is no z-loss.
#pragma once
#include "kernels/exact_grid.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"

namespace spire {

// inputs, outputs: as SoftmaxCrossEntropyOp without the gradient.
class ExactCrossEntropyOp : public OpWith<SoftmaxCrossEntropyAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "exact_cross_entropy"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: logits, labels [, other_labels, mix]. outputs: dlogits, like logits.
class ExactCrossEntropyBackwardOp : public OpWith<SoftmaxCrossEntropyAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "exact_cross_entropy_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
};

struct ExactLoss {
  double loss = 0, correct = 0;

  void operator+=(const ExactLoss& other) {
    loss += other.loss;
    correct += other.correct;
  }
};

// A row of logits with its largest logit, and the sum of e^(logit - largest).
class ExactSoftmaxRow {
 public:
  SPIRE_HOST_DEVICE ExactSoftmaxRow(const float* x, int64_t classes) : x_(x), classes_(classes) {
    for (int64_t c = 1; c < classes; ++c) first_ = x[c] > x[first_] ? c : first_;
    for (int64_t c = 0; c < classes; ++c) sum_ += exponential(c);
  }

  SPIRE_HOST_DEVICE ExactLoss loss(const LabelTarget& target, double smoothing,
                                   double weight) const {
    double lse = static_cast<double>(x_[first_]) + exact_logarithm(sum_), expected = 0;
    for (int i = 0; i < 2; ++i) {
      if (i >= target.count) continue;
      double share = (1 - smoothing) * static_cast<double>(target.weights[i]);
      expected = std::fma(share, static_cast<double>(x_[target.labels[i]]), expected);
    }
    if (smoothing > 0) expected = std::fma(smoothing, mean(), expected);
    if (target.count == 0) return {HUGE_VAL - HUGE_VAL, 0};  // no label: NaN
    double loss = weight * (lse - expected);
    return {rint(loss * 0x1p30) * 0x1p-30, target.heavier() == first_ && !has_nan() ? 1.0 : 0.0};
  }

  // Returns (probability - target share) * scale of class c.
  SPIRE_HOST_DEVICE float gradient(int64_t c, const LabelTarget& target, double smoothing,
                                   double scale) const {
    double share = smoothing / static_cast<double>(classes_);
    for (int i = 0; i < 2; ++i) {
      if (i < target.count && target.labels[i] == c)
        share = std::fma(1 - smoothing, static_cast<double>(target.weights[i]), share);
    }
    double probability = exponential(c) / sum_;
    return static_cast<float>((probability - share) * scale);
  }

 private:
  SPIRE_HOST_DEVICE double exponential(int64_t c) const {
    return exact_exponential(static_cast<double>(x_[c]) - static_cast<double>(x_[first_]));
  }
  SPIRE_HOST_DEVICE bool has_nan() const { return sum_ != sum_; }
  SPIRE_HOST_DEVICE double mean() const {
    double total = 0;
    for (int64_t c = 0; c < classes_; ++c) total += static_cast<double>(x_[c]);
    return total / static_cast<double>(classes_);
  }

  const float* x_;
  int64_t classes_, first_ = 0;  // class of the first largest logit
  double sum_ = 0;
};

}  // namespace spire
