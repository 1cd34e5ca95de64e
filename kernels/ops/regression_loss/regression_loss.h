// Losses of a prediction p against a target t, both (N, ...) with F elements per sample; d = p - t:
//   mse:   loss = sum_n mean_f d^2               dp = 2 d / F * gradient_scale
//   l1:    loss = sum_n mean_f |d|               dp = sign(d) / F * gradient_scale, 0 where d = 0
//   l1_l2: loss = sum_n mean_f (l1 |d| + l2 d^2)   dp = the two above, with these factors
// p and t are fp32, bf16 or fp16, not necessarily the same; terms are fp32, their sum fp64.
// The loss that a graph computes itself, from x (N, ...), likewise:
//   mean_loss: loss = sum_n mean_f x             dx = gradient_scale / F for every element
// Sums are in an order that the shape and the number of threads fix.
#pragma once
#include <type_traits>

#include <spire/op.h>
#include <spire/tensor.h>

namespace spire {

struct RegressionAttributes {
  Regression kind = Regression::mse;
  float l1 = 1, l2 = 1;  // factors of l1_l2
};

// inputs: prediction, target. outputs: loss (1) f64 and, for any kind, sum_n mean_f d^2 (1) f64,
// from which PSNR follows. The kind is the name. The backward starts here, for p only.
class RegressionLossOp : public OpWith<RegressionAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override;
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: prediction, target. outputs: dp, like the prediction.
class RegressionLossBackwardOp : public OpWith<RegressionAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override;
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  bool may_overwrite(int) const override { return true; }
};

// Sums of |d| and of d^2 over all elements.
struct RegressionSums {
  double absolute = 0, squared = 0;

  SPIRE_HOST_DEVICE void operator+=(const RegressionSums& other) {
    absolute += other.absolute;
    squared += other.squared;
  }
};

SPIRE_HOST_DEVICE inline double regression_loss(const RegressionAttributes& a,
                                                const RegressionSums& sums) {
  if (a.kind == Regression::mse) return sums.squared;
  if (a.kind == Regression::l1) return sums.absolute;
  return double{a.l1} * sums.absolute + double{a.l2} * sums.squared;
}

// dp of one element; scale is gradient_scale / F.
template <Regression kind>
struct RegressionGradient {
  SPIRE_HOST_DEVICE RegressionGradient(const RegressionAttributes& a, float scale)
      : l1_(kind == Regression::l1_l2 ? a.l1 * scale : scale),
        l2_(kind == Regression::l1_l2 ? 2 * a.l2 * scale : scale) {}

  // V is float; for mse it may also be a vector of floats.
  template <typename V>
  requires(kind == Regression::mse || std::is_same_v<V, float>) SPIRE_HOST_DEVICE V operator()(
      V p, V t) const {
    if constexpr (kind == Regression::mse) {
      return 2 * (p - t) * l2_;
    } else {
      float sign = p > t ? l1_ : p < t ? -l1_ : p - t;  // a NaN stays
      return kind == Regression::l1 ? sign : sign + l2_ * (p - t);
    }
  }

 private:
  float l1_, l2_;
};

// Calls visit(std::integral_constant<Regression, kind>).
template <typename Visit>
decltype(auto) with_regression(Regression kind, const Visit& visit) {
  if (kind == Regression::mse) return visit(std::integral_constant<Regression, Regression::mse>{});
  if (kind == Regression::l1) return visit(std::integral_constant<Regression, Regression::l1>{});
  return visit(std::integral_constant<Regression, Regression::l1_l2>{});
}

// inputs: x. outputs: loss (1) f64. The backward starts here.
class MeanLossOp : public Op {
 public:
  std::string_view name() const override { return "mean_loss"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: x, of which only the shape matters. outputs: dx, like x.
class MeanLossBackwardOp : public Op {
 public:
  std::string_view name() const override { return "mean_loss_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  bool may_overwrite(int) const override { return true; }
};

// Returns 1 / F, the weight of an element in the mean over its sample, for an input (N, ...) with F
// elements per sample; 1 if there are no rows.
inline double sample_share(const TensorSpec& spec) {
  int64_t rows = spec.shape[0], elements = spec.shape.elements();
  return static_cast<double>(rows > 1 ? rows : 1) /
         static_cast<double>(elements > 1 ? elements : 1);
}

}  // namespace spire
