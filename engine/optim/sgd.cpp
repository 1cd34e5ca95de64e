#include <spire/optim/optimizer.h>

namespace spire {
namespace {

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const OptimizerConfig& config)
      : momentum_(static_cast<float>(config.momentum)),
        decay_(static_cast<float>(config.weight_decay)),
        nesterov_(config.nesterov) {}

  std::vector<std::string> slots() const override {
    return momentum_ == 0.0f ? std::vector<std::string>{} : std::vector<std::string>{"momentum"};
  }

  void update(const UpdateStep& step, const UpdateSlice& slice) const override {
    if (momentum_ == 0.0f) {
      plain(step, slice);
    } else if (nesterov_) {
      with_momentum<true>(step, slice);
    } else {
      with_momentum<false>(step, slice);
    }
  }

 private:
  void plain(const UpdateStep& step, const UpdateSlice& slice) const {
    const float* __restrict g = slice.gradients;
    float* __restrict w = slice.weights;
    const float lr = step.lr, factor = step.gradient_factor, decay = decay_ * slice.decay;
    for (int64_t i = 0; i < slice.count; ++i) w[i] -= lr * (g[i] * factor + decay * w[i]);
  }

  template <bool nesterov>
  void with_momentum(const UpdateStep& step, const UpdateSlice& slice) const {
    const float* __restrict g = slice.gradients;
    float* __restrict w = slice.weights;
    float* __restrict v = slice.slots[0];
    // Copies: the compiler must not fear that a store changes them.
    const float lr = step.lr, factor = step.gradient_factor, decay = decay_ * slice.decay,
                momentum = momentum_;
    for (int64_t i = 0; i < slice.count; ++i) {
      float gradient = g[i] * factor + decay * w[i];
      float velocity = momentum * v[i] + gradient;
      v[i] = velocity;
      w[i] -= lr * (nesterov ? gradient + momentum * velocity : velocity);
    }
  }

  float momentum_, decay_;
  bool nesterov_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const OptimizerConfig& config) {
  return std::make_unique<Sgd>(config);
}

}  // namespace spire
