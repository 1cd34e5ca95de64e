// An optimizer of the program has the bits of the built-in one with its formula, in every way to
// update, across save and resume.
#include <cmath>

#include <gtest/gtest.h>

#include <spire/optimizer.h>

#include "tests/base/message_of.h"
#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

class OwnOptimizer : public OnEachKind {};
SPIRE_TEST_ON_EACH_KIND(OwnOptimizer);

// MomentumFormula (engine/update/formulas.h).
class Momentum : public Optimizer {
 public:
  std::vector<std::string> state() const override { return {"momentum"}; }
  void update(const OptimizerSlice& at) const override {
    for (int64_t i = 0; i < at.count; ++i) {
      float gradient =
          std::fma(at.weight_decay, at.weights[i], at.gradients[i] * at.gradient_factor);
      float& velocity = at.state[0][i];
      velocity = std::fma(0.9f, velocity, gradient);
      at.weights[i] = std::fma(-at.lr, velocity, at.weights[i]);
    }
  }
};

SmallRun run_on(std::vector<std::string> devices, const std::string& strategy, bool own) {
  SmallRun run;
  run.devices = std::move(devices);
  run.strategy = strategy;
  run.ema.decay = 0.9;
  run.optimizer = {.name = OptimizerConfig::Name::sgd,
                   .lr = 0.05,
                   .lr_factors = {{"conv1.*", 0.5}},
                   .decay_factors = {{"*.bias", 0}},
                   .momentum = 0.9,
                   .nesterov = false,
                   .weight_decay = 0.01,
                   .clip_norm = 1};
  if (own) {
    run.optimizer.own = std::make_shared<Momentum>();
    run.optimizer.momentum = 0;  // of the built-in one
  }
  return run;
}

TEST_P(OwnOptimizer, HasTheBitsOfTheBuiltInOne) {
  for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
    if (on_gpu() && strategy != std::string("parameter_device")) continue;  // the host updates
    for (int ranks : rank_counts({1, 2})) {
      uint64_t hashes[2];
      for (bool own : {false, true}) {
        SmallRun run = run_on(ranks == 1 ? devices(2) : devices_of_ranks(ranks), strategy, own);
        run.ranks = ranks;
        if (on_gpu()) run.parameter_device = "cpu";
        TrainingState half = state_after(run, 3);
        hashes[own] = hash_after(run, 3, 6, &half);
        EXPECT_EQ(hashes[own], hash_after(run, 6)) << "resumed";
      }
      EXPECT_EQ(hashes[0], hashes[1]) << strategy << ", " << ranks << " ranks";
    }
  }
}

TEST_P(OwnOptimizer, IsRefusedOnAGpuItself) {
  if (!on_gpu()) return;
  SmallRun run = run_on(devices(1), "parameter_device", true);
  EXPECT_EQ(message_of(Category::config, [&] { planned_trainer(run); }),
            "the program's optimizer updates weights on CPUs; with GPUs set parameter_device: cpu");
}

class Keeper : public Momentum {
 public:
  explicit Keeper(std::vector<std::string> names) : names_(std::move(names)) {}
  std::vector<std::string> state() const override { return names_; }

 private:
  std::vector<std::string> names_;
};

TEST(OwnOptimizerState, HasNamesAndALimit) {
  auto refusal = [](std::vector<std::string> names) {
    SmallRun run;
    run.optimizer.own = std::make_shared<Keeper>(std::move(names));
    return message_of(Category::config, [&] { planned_trainer(run); });
  };
  EXPECT_EQ(refusal({"a", "b", "c", "d", "e"}),
            "the program's optimizer keeps 5 numbers for each weight; 4 are the most");
  for (const std::vector<std::string>& names :
       std::vector<std::vector<std::string>>{{""}, {"a/b"}, {"a", "a"}})
    EXPECT_EQ(refusal(names), "the program's optimizer: '" + names[0] +
                                  "' is no name for what it keeps, or is given twice");
}

}  // namespace
}  // namespace spire
