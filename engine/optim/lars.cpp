#include "engine/optim/optimizer.h"

namespace spire::inline optim {
namespace {

class Lars final : public Optimizer {
 public:
  explicit Lars(const OptimizerConfig& config) : config_(config) {}

  std::vector<std::string> slots() const override { return {"momentum"}; }

  OptimizerFormula formula(const UpdateStep& step) const override {
    return LarsFormula{.lr = step.lr,
                       .weight_decay = static_cast<float>(config_.weight_decay),
                       .momentum = static_cast<float>(config_.momentum),
                       .trust_coefficient = config_.trust_coefficient};
  }

 private:
  OptimizerConfig config_;
};

}  // namespace

std::unique_ptr<Optimizer> make_lars(const OptimizerConfig& config) {
  return std::make_unique<Lars>(config);
}

}  // namespace spire::inline optim
