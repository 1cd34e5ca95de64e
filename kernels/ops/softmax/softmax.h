// Softmax over the last axis, and its logarithm; x, y (.., C), one dtype, fp32, bf16 or fp16:
//   softmax:     y_c = e^(x_c - m) / s           dx_c = y_c (dy_c - sum_k dy_k y_k)
//   log_softmax: y_c = x_c - m - ln s            dx_c = dy_c - e^(y_c) sum_k dy_k
// with m = max_k x_k and s = sum_k e^(x_k - m). Sums are fp64, in an order that C fixes. The math
// is written once here, as functors for host and device.
#pragma once
#include <spire/op.h>

#include "kernels/ops/elementwise/activation.h"

namespace spire {

struct SoftmaxAttributes {
  bool logarithm = false;
};

// inputs: x. outputs: y. The kind is the name: "softmax" or "log_softmax".
class SoftmaxOp : public OpWith<SoftmaxAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override {
    return attributes_.logarithm ? "log_softmax" : "softmax";
  }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int) const override { return true; }
};

// inputs: dy, y. outputs: dx.
class SoftmaxBackwardOp : public OpWith<SoftmaxAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override {
    return attributes_.logarithm ? "log_softmax_backward" : "softmax_backward";
  }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  bool may_overwrite(int) const override { return true; }
};

// The formulas of one element. row: row_term(s) of its row, 1 / s or ln s. total: the sum of term()
// over its row.
struct PlainSoftmax {
  SPIRE_HOST_DEVICE static float row_term(double sum) { return static_cast<float>(1 / sum); }
  SPIRE_HOST_DEVICE static float value(float shifted, float row) {
    return Exp{}.value(shifted) * row;
  }
  SPIRE_HOST_DEVICE static float term(float dy, float y) { return dy * y; }
  SPIRE_HOST_DEVICE static float gradient(float dy, float y, float total) {
    return y * (dy - total);
  }
};

struct LogSoftmax {
  SPIRE_HOST_DEVICE static float row_term(double sum) {
    return natural_logarithm(static_cast<float>(sum));
  }
  SPIRE_HOST_DEVICE static float value(float shifted, float row) { return shifted - row; }
  SPIRE_HOST_DEVICE static float term(float dy, float) { return dy; }
  SPIRE_HOST_DEVICE static float gradient(float dy, float y, float total) {
    return dy - Exp{}.value(y) * total;
  }
};

}  // namespace spire
