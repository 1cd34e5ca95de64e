#include "engine/optim/optimizer.h"

namespace spire::inline optim {
namespace {

class Adam final : public Optimizer {
 public:
  Adam(const OptimizerConfig& config, bool decoupled_decay)
      : config_(config), decoupled_(decoupled_decay) {}

  std::vector<std::string> slots() const override { return {"m", "v"}; }

  OptimizerFormula formula(const UpdateStep& step) const override {
    return AdamFormula{
        .moments = Moments::at(step.step, config_.beta1, config_.beta2, config_.epsilon),
        .lr = step.lr,
        .rate = static_cast<float>(step.lr / Moments::correction(step.step, config_.beta1)),
        .weight_decay = static_cast<float>(config_.weight_decay),
        .decoupled = decoupled_};
  }

 private:
  OptimizerConfig config_;
  bool decoupled_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(const OptimizerConfig& config, bool decoupled_decay) {
  return std::make_unique<Adam>(config, decoupled_decay);
}

}  // namespace spire::inline optim
