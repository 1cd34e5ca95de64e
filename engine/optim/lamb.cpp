#include <cmath>

#include <spire/optim/optimizer.h>

namespace spire {
namespace {

class Lamb final : public Optimizer {
 public:
  explicit Lamb(const OptimizerConfig& config)
      : beta1_(config.beta1),
        beta2_(config.beta2),
        epsilon_(static_cast<float>(config.epsilon)),
        decay_(static_cast<float>(config.weight_decay)) {}

  std::vector<std::string> slots() const override { return {"m", "v"}; }
  bool layerwise() const override { return true; }

  // Brings m and v up to this step; update() makes the same direction of them again.
  TrustSquares measure(const UpdateStep& step, const UpdateSlice& slice) const override {
    const float* __restrict g = slice.gradients;
    float* __restrict m = slice.slots[0];
    float* __restrict v = slice.slots[1];
    const auto beta1 = static_cast<float>(beta1_), beta2 = static_cast<float>(beta2_);
    const float factor = step.gradient_factor;
    for (int64_t i = 0; i < slice.count; ++i) {
      float gradient = g[i] * factor;
      m[i] = beta1 * m[i] + (1.0f - beta1) * gradient;
      v[i] = beta2 * v[i] + (1.0f - beta2) * gradient * gradient;
    }
    const float* __restrict w = slice.weights;
    Direction direction = direction_of(step, slice);
    return sum_trust_squares(
        slice.count, [&](int64_t i) { return w[i]; },
        [&](int64_t i) { return direction(m[i], v[i], w[i]); });
  }

  float trust_ratio(const TrustSquares& tensor, float) const override {
    double weights = std::sqrt(tensor.weights), update = std::sqrt(tensor.update);
    return weights == 0 || update == 0 ? 1.0f : static_cast<float>(weights / update);
  }

  void update(const UpdateStep& step, const UpdateSlice& slice) const override {
    float* __restrict w = slice.weights;
    const float* __restrict m = slice.slots[0];
    const float* __restrict v = slice.slots[1];
    Direction direction = direction_of(step, slice);
    const float rate = step.lr * slice.trust_ratio;
    for (int64_t i = 0; i < slice.count; ++i) w[i] -= rate * direction(m[i], v[i], w[i]);
  }

 private:
  // m^ / (sqrt(v^) + epsilon) + weight_decay w, with the bias corrections as factors.
  struct Direction {
    float scale, root, epsilon, decay;
    float operator()(float m, float v, float w) const {
      return scale * m / (std::sqrt(v) * root + epsilon) + decay * w;
    }
  };
  Direction direction_of(const UpdateStep& step, const UpdateSlice& slice) const {
    auto n = static_cast<double>(step.step);
    return {.scale = static_cast<float>(1.0 / (1.0 - std::pow(beta1_, n))),
            .root = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(beta2_, n))),
            .epsilon = epsilon_,
            .decay = decay_ * slice.decay};
  }

  double beta1_, beta2_;
  float epsilon_, decay_;
};

}  // namespace

std::unique_ptr<Optimizer> make_lamb(const OptimizerConfig& config) {
  return std::make_unique<Lamb>(config);
}

}  // namespace spire
