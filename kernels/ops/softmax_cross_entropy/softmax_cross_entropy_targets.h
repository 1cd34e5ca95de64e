// The targets of softmax_cross_entropy's rows, for host and device.
#pragma once
#include <span>

#include "engine/base/host_device.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"

namespace spire::inline kernels {

// What a row's target is made of: its labels with their weights, which come to 1.
struct LabelTarget {
  int32_t labels[2];
  float weights[2];
  int count;  // 1 or 2; 0 when a label or the mix is out of range

  SPIRE_HOST_DEVICE int32_t heavier() const {
    return count == 2 && weights[1] > weights[0] ? labels[1] : labels[0];
  }
};

// Reads the targets of rows from the inputs labels and, in the mixed form, other_labels and mix.
class LabelTargets {
 public:
  LabelTargets(const SoftmaxCrossEntropyAttributes& attributes, int64_t classes,
               std::span<const void* const> inputs, size_t other)
      : classes_(classes),
        rows_per_sample_(attributes.rows_per_sample),
        labels_(static_cast<const int32_t*>(inputs[1])) {
    if (!attributes.mixed) return;
    others_ = static_cast<const int32_t*>(inputs[other]);
    mix_ = static_cast<const float*>(inputs[other + 1]);
  }

  SPIRE_HOST_DEVICE LabelTarget of(int64_t row) const {
    int32_t label = labels_[row];
    if (!others_) return {{label}, {1}, holds(label) ? 1 : 0};
    int32_t other = others_[row];
    float mix = mix_[row / rows_per_sample_];
    bool valid = holds(label) && holds(other) && mix >= 0 && mix <= 1;
    if (label == other) return {{label}, {1}, valid ? 1 : 0};
    return {{label, other}, {mix, 1 - mix}, valid ? 2 : 0};
  }

 private:
  SPIRE_HOST_DEVICE bool holds(int32_t label) const { return label >= 0 && label < classes_; }

  int64_t classes_, rows_per_sample_;
  const int32_t *labels_, *others_ = nullptr;
  const float* mix_ = nullptr;
};

}  // namespace spire::inline kernels
