// Steps that a judge rejects, in every way to update: they leave no trace.
#include <functional>

#include <gtest/gtest.h>

#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

class JudgedSteps : public OnEachKind {};
SPIRE_TEST_ON_EACH_KIND(JudgedSteps);

struct StateHashes {
  uint64_t weights = 0;
  std::optional<uint64_t> average;

  bool operator==(const StateHashes&) const = default;
};

StateHashes hashes_of(TowerTrainer& trainer) {
  return {trainer.parameter_hash(), trainer.average_hash()};
}

constexpr int64_t rejected = 2, judged_steps = 3;

// Step 2 is judged bad, or left out by the loop where there is no judge.
StateHashes train(const SmallRun& run) {
  TowerTrainer trainer(run.options(), run.place());
  StateHashes hashes;
  if (run.judged)
    trainer.set_judge([](const StepOutcome& result) { return result.step != rejected; });
  for_batches(trainer, run, run.dataset(), 0, judged_steps, [&](const Batch& batch, int64_t done) {
    int64_t step = done + 1;
    if (step == rejected && !run.judged) return trainer.set_rejected_steps(1);
    StateHashes before = step < rejected ? StateHashes{} : hashes_of(trainer);
    EXPECT_EQ(trainer.step(batch, done, run.optimizer.lr).rejected, step == rejected);
    if (step < rejected) return;
    EXPECT_EQ(hashes_of(trainer) == before, step == rejected) << "step " << step;
    trainer.set_rejected_steps(1);
  });
  trainer.team().lead([&] {
    trainer.check_replicas();
    hashes = hashes_of(trainer);
  });
  return hashes;
}

struct JudgedCase {
  const char* name;
  std::function<void(SmallRun&)> change;
  bool only_gpus = false;
};

const std::vector<JudgedCase> judged_cases = {
    {"averaged weights", [](SmallRun& run) { run.ema.decay = 0.9; }},
    {"sharded, averaged",
     [](SmallRun& run) {
       run.strategy = "sharded";
       run.ema.decay = 0.9;
     }},
    {"mirrored, clipped",
     [](SmallRun& run) {
       run.strategy = "mirrored";
       run.optimizer.clip_norm = 0.5;
     }},
    {"fp16", [](SmallRun& run) { run.precision = DType::f16; }, true},
    {"updates on the host", [](SmallRun& run) { run.parameter_device = "cpu"; }, true},
};

TEST_P(JudgedSteps, AreAsIfTheyHadNotBeen) {
  for (const JudgedCase& row : judged_cases) {
    if (row.only_gpus && !on_gpu()) continue;
    SCOPED_TRACE(row.name);
    SmallRun run;
    run.devices = devices(2);
    run.model = {.name = "mlp", .hidden = {8}, .dropout = 0.2};
    run.towers = 2;
    run.optimizer = {.name = OptimizerConfig::Name::adam, .lr = 0.01};  // counts its steps
    run.loss_scale.initial = 1024;                                      // no step overflows
    row.change(run);
    StateHashes left_out = train(run);
    run.judged = true;
    EXPECT_EQ(train(run), left_out);
  }
}

}  // namespace
}  // namespace spire
