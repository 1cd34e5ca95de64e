#include "engine/optim/optimizer.h"

namespace spire::inline optim {
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

  OptimizerFormula formula(const UpdateStep& step) const override {
    if (momentum_ == 0.0f) return SgdFormula{.lr = step.lr, .weight_decay = decay_};
    if (nesterov_) return MomentumFormula<true>{step.lr, decay_, momentum_};
    return MomentumFormula<false>{step.lr, decay_, momentum_};
  }

 private:
  float momentum_, decay_;
  bool nesterov_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const OptimizerConfig& config) {
  return std::make_unique<Sgd>(config);
}

}  // namespace spire::inline optim
