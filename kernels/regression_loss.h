// Losses of a prediction p against a target t of the same shape (N, ...), F elements a row:
//   mse: loss = sum_n mean_f (p - t)^2    dp = 2 (p - t) / F * gradient_scale
//   l1:  loss = sum_n mean_f |p - t|      dp = sign(p - t) / F * gradient_scale, 0 where p = t
// p and t fp32 or bf16; terms are fp32, their sum fp64.
#pragma once
#include <spire/kernels/kernel.h>

namespace spire {

enum class Regression { mse, l1 };

// inputs: prediction, target. outputs: loss (1) f64. Named by its kind. A root: its gradient
// ignores what comes after, and reaches the prediction alone.
class RegressionLossOp : public Op {
 public:
  explicit RegressionLossOp(Regression kind) : kind_(kind) {}
  Regression kind() const { return kind_; }

  std::string_view name() const override { return kind_ == Regression::mse ? "mse" : "l1"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  Regression kind_;
};

// inputs: prediction, target. outputs: dp, like the prediction.
class RegressionLossBackwardOp : public Op {
 public:
  explicit RegressionLossBackwardOp(Regression kind) : kind_(kind) {}
  Regression kind() const { return kind_; }

  std::string_view name() const override {
    return kind_ == Regression::mse ? "mse_backward" : "l1_backward";
  }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  bool may_overwrite(int) const override { return true; }

 private:
  Regression kind_;
};

std::unique_ptr<Kernel> make_regression_loss_cpu(const Op& op, const KernelRequest& request);
std::unique_ptr<Kernel> make_regression_loss_backward_cpu(const Op& op,
                                                          const KernelRequest& request);

}  // namespace spire
