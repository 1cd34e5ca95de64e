// The gradient of an exact product's parameters, from its total over all towers: rounded to fp32
// once, and given to the first tower alone, so that the sum over towers, which follows as for any
// gradient, adds zeros to it.
#pragma once
#include <spire/op.h>

namespace spire {

// inputs: the total (KH KW C O [+ O]) f64, dw as (KH, KW, C, O), behind it db. outputs: dw like the
// weights (O, C, KH, KW) or (O, C), and db (O) if `bias`, both fp32; zeros unless the tower has the
// global batch's first row.
class ExactGradientOp : public Op {
 public:
  ExactGradientOp(Shape w, bool bias) : w_(w), bias_(bias) {}

  const Shape& weights() const { return w_; }
  bool bias() const { return bias_; }

  std::string_view name() const override { return "exact_gradient"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;

 private:
  Shape w_;
  bool bias_;
};

// Moves and rounds the totals of one parameter's entries.
struct ExactGradient {
  int64_t outputs, inputs, taps;  // O, C, KH KW

  SPIRE_HOST_DEVICE int64_t weights() const { return outputs * inputs * taps; }
  // Returns the entry of dw for a row (tap, c) of the totals and an output.
  SPIRE_HOST_DEVICE int64_t index(int64_t row, int64_t o) const {
    return (o * inputs + row % inputs) * taps + row / inputs;
  }
  // -0 becomes 0, as it would in a sum with the zeros of other towers.
  SPIRE_HOST_DEVICE float weight(const double* total, int64_t row, int64_t o) const {
    return rounded(total[row * outputs + o]);
  }
  SPIRE_HOST_DEVICE float bias(const double* total, int64_t o) const {
    return rounded(total[weights() + o]);
  }

 private:
  static SPIRE_HOST_DEVICE float rounded(double sum) {
    auto result = static_cast<float>(sum);
    return result == 0 ? 0.0f : result;
  }
};

inline ExactGradient exact_gradient(const Shape& w) {
  return {w[0], w[1], w.rank() == 4 ? w[2] * w[3] : 1};
}

}  // namespace spire
