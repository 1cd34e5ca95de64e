// Distillation (Hinton, Vinyals, Dean, "Distilling the Knowledge in a Neural Network", 2015): the
// Kullback-Leibler divergence of a model's classes from a teacher's, both softened by a temperature
// T. For a row x of C logits and the teacher's row z:
//   p = softmax(x / T)    q = softmax(z / T)    loss = w T^2 sum_c q_c (ln q_c - ln p_c)
//   dx_c = w T (p_c - q_c) * gradient_scale / R
// with w the weight. A class with q_c = 0 adds nothing. A sample has R rows, whose mean is its
// loss. logits and teacher (N R, C) have one dtype, fp32, bf16 or fp16; exponentials are fp32, sums
// of a row fp64. The probabilities are stored nowhere: backward computes them again, from the
// logits and the logarithms of the sums.
#pragma once
#include <spire/op.h>

#include "kernels/ops/elementwise/activation.h"

namespace spire {

struct DistillationAttributes {
  float temperature = 1;        // T, above 0
  float weight = 1;             // w, at least 0
  int64_t rows_per_sample = 1;  // R

  double loss_factor() const {  // of the sum over rows
    auto t = static_cast<double>(temperature);
    return static_cast<double>(weight) * t * t / static_cast<double>(rows_per_sample);
  }
  float gradient_factor() const {
    return weight * temperature / static_cast<float>(rows_per_sample);
  }
};

// inputs: logits, teacher [, loss so far (1) f64]. outputs: loss (1) f64, added to the loss so far;
// logsumexp of logits / T and of teacher / T, (N R) f32 each. The backward pass starts here, for
// the logits alone.
class DistillationOp : public OpWith<DistillationAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "distillation"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: logits, teacher, and their logsumexps. outputs: dlogits, like logits.
class DistillationBackwardOp : public OpWith<DistillationAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "distillation_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  bool may_overwrite(int index) const override { return index < 2; }
};

// The formulas of one element, for host and device. x and z are divided by T here.
struct SoftenedPair {
  float inverse;  // 1 / T

  // The sums over a row from which its divergence follows: of e^x, of e^z, and of e^z (z - x),
  // where the row's largest x and largest z are subtracted first.
  struct Sums {
    double x = 0, z = 0, difference = 0;
  };
  SPIRE_HOST_DEVICE void add(float x, float z, float most_x, float most_z, Sums& sums) const {
    float a = (x - most_x) * inverse, b = (z - most_z) * inverse;
    float q = Exp{}.value(b);
    sums.x += static_cast<double>(Exp{}.value(a));
    sums.z += static_cast<double>(q);
    // An infinite difference counts only where the teacher's probability is not 0.
    sums.difference += q > 0 ? static_cast<double>(q) * static_cast<double>(b - a) : 0.0;
  }
  SPIRE_HOST_DEVICE float difference(float x, float z, float of_x, float of_z) const {
    return Exp{}.value(x * inverse - of_x) - Exp{}.value(z * inverse - of_z);
  }
};

}  // namespace spire
