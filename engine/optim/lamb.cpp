#include "engine/optim/optimizer.h"

namespace spire::inline optim {
namespace {

class Lamb final : public Optimizer {
 public:
  explicit Lamb(const OptimizerConfig& config) : config_(config) {}

  std::vector<std::string> slots() const override { return {"m", "v"}; }

  OptimizerFormula formula(const UpdateStep& step) const override {
    return LambFormula{
        .moments = Moments::at(step.step, config_.beta1, config_.beta2, config_.epsilon),
        .lr = step.lr,
        .weight_decay = static_cast<float>(config_.weight_decay)};
  }

 private:
  OptimizerConfig config_;
};

}  // namespace

std::unique_ptr<Optimizer> make_lamb(const OptimizerConfig& config) {
  return std::make_unique<Lamb>(config);
}

}  // namespace spire::inline optim
