// Rates, factors, decay and momentum that change between two steps: as if the later steps were of a
// run of their own, which begins with the state of the first, in every way to update.
#include <gtest/gtest.h>

#include "tests/base/message_of.h"
#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

class ChangedOptimizer : public OnEachKind {};
SPIRE_TEST_ON_EACH_KIND(ChangedOptimizer);

struct ChangedCase {
  const char* name;
  std::function<void(SmallRun&)> change;
  bool only_gpus = false;
};

const std::vector<ChangedCase> changed_cases = {
    {"parameter device", [](SmallRun&) {}},
    {"mirrored", [](SmallRun& run) { run.strategy = "mirrored"; }},
    {"sharded, averaged",
     [](SmallRun& run) {
       run.strategy = "sharded";
       run.ema.decay = 0.9;
     }},
    {"layer-wise", [](SmallRun& run) { run.optimizer.name = OptimizerConfig::Name::lars; }},
    {"layer-wise, sharded",
     [](SmallRun& run) {
       run.strategy = "sharded";
       run.optimizer.name = OptimizerConfig::Name::lamb;
     }},
    {"layer-wise, by the host",
     [](SmallRun& run) {
       run.parameter_device = "cpu";
       run.optimizer.name = OptimizerConfig::Name::lars;
     },
     true},
};

OptimizerConfig changed(OptimizerConfig optimizer) {
  optimizer.lr = 0.02;
  optimizer.lr_factors = {{"conv1.*", 0}, {"*.bias", 2}};  // more ranges of weights than before
  optimizer.decay_factors = {{"conv1.*", 0}};
  optimizer.weight_decay = 0.01;
  optimizer.momentum = 0.5;
  optimizer.beta1 = 0.8;
  optimizer.clip_norm = 1;
  return optimizer;
}

TEST_P(ChangedOptimizer, IsThatOfARunOfItsOwn) {
  for (const ChangedCase& test : changed_cases) {
    if (test.only_gpus && !on_gpu()) continue;
    SCOPED_TRACE(test.name);
    for (int ranks : rank_counts({1, 2})) {
      SmallRun run;
      test.change(run);
      run.judged = true;  // so that sums come before any update, as clipping needs
      run.devices = ranks == 1 ? devices(2) : devices_of_ranks(ranks);
      run.ranks = ranks;
      SmallRun later = run;
      later.optimizer = changed(run.optimizer);
      TrainingState half = state_after(run, 2);
      uint64_t expected = hash_after(later, 2, 4, &half);
      on_ranks(run, [&](TowerTrainer& trainer) {
        run_steps(trainer, run, 0, 2);
        trainer.team().lead([&] { trainer.set_optimizer(later.optimizer); });
        run_steps(trainer, later, 2, 4);
        EXPECT_EQ(trainer.parameter_hash(), expected) << ranks << " ranks";
      });
    }
  }
}

TEST_P(ChangedOptimizer, RefusesFactorsOfNoWeight) {
  SmallRun run;
  run.devices = devices(1);
  on_ranks(run, [&](TowerTrainer& trainer) {
    OptimizerConfig wrong = run.optimizer;
    wrong.lr_factors = {{"none.*", 2}};
    std::string text = message_of(
        Category::config, [&] { trainer.team().lead([&] { trainer.set_optimizer(wrong); }); });
    EXPECT_NE(text.find("optimizer.lr_factors"), std::string::npos) << text;
  });
}

}  // namespace
}  // namespace spire
