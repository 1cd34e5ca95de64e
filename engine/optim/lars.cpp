#include <cmath>

#include <spire/optim/optimizer.h>

namespace spire {
namespace {

class Lars final : public Optimizer {
 public:
  explicit Lars(const OptimizerConfig& config)
      : trust_(config.trust_coefficient),
        momentum_(static_cast<float>(config.momentum)),
        decay_(static_cast<float>(config.weight_decay)) {}

  std::vector<std::string> slots() const override { return {"momentum"}; }
  bool layerwise() const override { return true; }

  TrustSquares measure(const UpdateStep& step, const UpdateSlice& slice) const override {
    const float* __restrict g = slice.gradients;
    const float* __restrict w = slice.weights;
    const float factor = step.gradient_factor;
    return sum_trust_squares(
        slice.count, [&](int64_t i) { return w[i]; }, [&](int64_t i) { return g[i] * factor; });
  }

  float trust_ratio(const TrustSquares& tensor, float decay) const override {
    double weights = std::sqrt(tensor.weights), gradient = std::sqrt(tensor.update);
    if (weights == 0 || gradient == 0) return 1.0f;
    return static_cast<float>(trust_ * weights / (gradient + double{decay_} * decay * weights));
  }

  void update(const UpdateStep& step, const UpdateSlice& slice) const override {
    const float* __restrict g = slice.gradients;
    float* __restrict w = slice.weights;
    float* __restrict v = slice.slots[0];
    const float lr = step.lr, factor = step.gradient_factor, momentum = momentum_,
                decay = decay_ * slice.decay, ratio = slice.trust_ratio;
    for (int64_t i = 0; i < slice.count; ++i) {
      v[i] = momentum * v[i] + ratio * (g[i] * factor + decay * w[i]);
      w[i] -= lr * v[i];
    }
  }

 private:
  double trust_;
  float momentum_, decay_;
};

}  // namespace

std::unique_ptr<Optimizer> make_lars(const OptimizerConfig& config) {
  return std::make_unique<Lars>(config);
}

}  // namespace spire
