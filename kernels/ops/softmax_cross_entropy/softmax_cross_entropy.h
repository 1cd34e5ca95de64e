// Softmax and cross entropy in one op, for class labels. For a row x of C logits with label l:
//   logsumexp = log sum_c e^(x_c)    loss = logsumexp - sum_c t_c x_c
//   t_c = (1 - s) [c == l] + s / C, with s the label smoothing (Szegedy et al., 2016)
//   dx_c = (e^(x_c - logsumexp) - t_c) * gradient_scale / R
// Loss and gradient are multiplied by `weight`. The z-loss (Chowdhery et al., "PaLM", 2022) with
// weight z adds z logsumexp^2 to the loss and multiplies e^(x_c - logsumexp) in dx_c by 1 + 2 z
// logsumexp. A sample has R rows, whose mean is its loss. In the mixed form (Zhang et al., "mixup",
// 2018) a row has two labels, l and o: t_c has m [c == l] + (1 - m) [c == o] instead of [c == l],
// with m the mix of its sample. logits (N R, C) are fp32, bf16 or fp16, the computation is in fp32;
// labels, other_labels (N R) i32, mix (N) f32. A label outside [0, C), or a mix outside [0, 1],
// makes the loss NaN. If `unlabelled`, rows of label -1 are left out: a sample's loss is the mean
// of its V labelled rows, each of which then weighs R / V, and 0 if V = 0.
#pragma once
#include <span>

#include <spire/op.h>
#include <spire/tensor.h>

namespace spire {

struct SoftmaxCrossEntropyAttributes {
  float label_smoothing = 0;    // in [0, 1)
  int64_t rows_per_sample = 1;  // R
  bool mixed = false;           // two labels per row
  bool unlabelled = false;      // rows of label -1 have no label
  float z_loss = 0;             // z, at least 0
  float weight = 1;             // factor of the loss, at least 0
  bool gradient = false;        // one more output, the first: the gradient of the logits

  // The factor of probabilities in a row's gradient.
  SPIRE_HOST_DEVICE float probability_factor(float logsumexp) const {
    return 1 + 2 * z_loss * logsumexp;
  }
};

// inputs: logits, labels [, other_labels, mix]. outputs: [dlogits, like logits], loss (1) f64, the
// sum over rows / R; correct (1) f64, 1 / R times the number of rows whose largest logit (the first
// of equal ones) is that of the label, or of the heavier label. In training the op also makes the
// gradient, with which backward starts, while a row is in the cache.
class SoftmaxCrossEntropyOp : public OpWith<SoftmaxCrossEntropyAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override {
    return attributes_.gradient ? "softmax_cross_entropy_with_gradient" : "softmax_cross_entropy";
  }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int index) const override { return attributes_.gradient && index == 0; }
};

// Labels of a row with their weights, which sum to 1.
struct LabelTarget {
  int32_t labels[2];
  float weights[2];
  int count;                // 1 or 2; 0 if a label or the mix is out of range
  bool unlabelled = false;  // the row is left out

  SPIRE_HOST_DEVICE int32_t heavier() const {
    return count == 2 && weights[1] > weights[0] ? labels[1] : labels[0];
  }
};

// Reads the targets of rows from the inputs 1 and, in the mixed form, 2 and 3 of the op.
class LabelTargets {
 public:
  LabelTargets(const SoftmaxCrossEntropyAttributes& attributes, int64_t classes,
               std::span<const void* const> inputs)
      : classes_(classes),
        rows_per_sample_(attributes.rows_per_sample),
        unlabelled_(attributes.unlabelled),
        labels_(static_cast<const int32_t*>(inputs[1])) {
    if (!attributes.mixed) return;
    others_ = static_cast<const int32_t*>(inputs[2]);
    mix_ = static_cast<const float*>(inputs[3]);
  }

  SPIRE_HOST_DEVICE LabelTarget of(int64_t row) const {
    int32_t label = labels_[row];
    if (is_unlabelled(row)) return {{label}, {0}, 0, true};
    if (!others_) return {{label}, {1}, holds(label) ? 1 : 0};
    int32_t other = others_[row];
    float mix = mix_[row / rows_per_sample_];
    bool valid = holds(label) && holds(other) && mix >= 0 && mix <= 1;
    if (label == other) return {{label}, {1}, valid ? 1 : 0};
    return {{label, other}, {mix, 1 - mix}, valid ? 2 : 0};
  }

  SPIRE_HOST_DEVICE bool is_unlabelled(int64_t row) const {
    return unlabelled_ && labels_[row] == -1;
  }

 private:
  SPIRE_HOST_DEVICE bool holds(int32_t label) const { return label >= 0 && label < classes_; }

  int64_t classes_, rows_per_sample_;
  bool unlabelled_;
  const int32_t *labels_, *others_ = nullptr;
  const float* mix_ = nullptr;
};

// The weight R / V of each labelled row of a sample, for all samples of a batch.
class SampleWeights {
 public:
  // weights: (N); null if no row may be unlabelled.
  SampleWeights(const SoftmaxCrossEntropyAttributes& attributes, const double* weights)
      : rows_per_sample_(attributes.rows_per_sample),
        weights_(attributes.unlabelled ? weights : nullptr) {}

  static size_t bytes(const SoftmaxCrossEntropyAttributes& attributes, int64_t rows) {
    auto samples = static_cast<size_t>(rows / attributes.rows_per_sample);
    return attributes.unlabelled ? samples * sizeof(double) : 0;
  }

  SPIRE_HOST_DEVICE double of(int64_t row) const {
    return weights_ ? weights_[row / rows_per_sample_] : 1;
  }

 private:
  int64_t rows_per_sample_;
  const double* weights_;
};

}  // namespace spire
