#include <cmath>

#include <spire/optim/optimizer.h>

namespace spire {
namespace {

class Adam final : public Optimizer {
 public:
  Adam(const OptimizerConfig& config, bool decoupled_decay)
      : beta1_(config.beta1),
        beta2_(config.beta2),
        epsilon_(static_cast<float>(config.epsilon)),
        decay_(static_cast<float>(config.weight_decay)),
        decoupled_(decoupled_decay) {}

  std::vector<std::string> slots() const override { return {"m", "v"}; }

  void update(const UpdateStep& step, const UpdateSlice& slice) const override {
    const float* __restrict g = slice.gradients;
    float* __restrict w = slice.weights;
    float* __restrict m = slice.slots[0];
    float* __restrict v = slice.slots[1];
    auto n = static_cast<double>(step.step);
    const float rate = static_cast<float>(step.lr / (1.0 - std::pow(beta1_, n)));
    const float root = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(beta2_, n)));
    const auto beta1 = static_cast<float>(beta1_), beta2 = static_cast<float>(beta2_);
    const float decay = decay_ * slice.decay;
    const float shrink = decoupled_ ? 1.0f - step.lr * decay : 1.0f;
    const float l2 = decoupled_ ? 0.0f : decay, factor = step.gradient_factor, epsilon = epsilon_;
    for (int64_t i = 0; i < slice.count; ++i) {
      float gradient = g[i] * factor + l2 * w[i];
      m[i] = beta1 * m[i] + (1.0f - beta1) * gradient;
      v[i] = beta2 * v[i] + (1.0f - beta2) * gradient * gradient;
      w[i] = w[i] * shrink - rate * m[i] / (std::sqrt(v[i]) * root + epsilon);
    }
  }

 private:
  double beta1_, beta2_;
  float epsilon_, decay_;
  bool decoupled_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(const OptimizerConfig& config, bool decoupled_decay) {
  return std::make_unique<Adam>(config, decoupled_decay);
}

}  // namespace spire
