// Tests training in fp16, on GPUs alone: results near fp32's, and steps that overflow are skipped.
#include <gtest/gtest.h>

#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

class HalfPrecision : public OnEachKind {
 protected:
  static SmallRun half_run(int64_t device_count = 1) {
    SmallRun run;
    run.precision = DType::f16;
    run.model.normalization = ModelConfig::Normalization::batch_norm;
    run.optimizer = {.name = OptimizerConfig::Name::adam, .lr = 0.005, .clip_norm = 1.0};
    run.devices = devices(device_count);
    return run;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, HalfPrecision, testing::Values(DeviceKind::cuda),
                         [](const auto& test) { return name_of(test.param); });

TEST_P(HalfPrecision, TrainsNearlyWhatFp32Trains) {
  SmallRun half = half_run(), full = half;
  full.precision = DType::f32;
  TowerTrainer a(half.options(), half.place()), b(full.options(), full.place());
  for (int64_t step = 0; step < 8; ++step) {
    StepOutcome got = run_steps(a, half, step, step + 1), want = run_steps(b, full, step, step + 1);
    EXPECT_FALSE(got.skipped);
    EXPECT_EQ(got.loss_scale, 65536);
    EXPECT_NEAR(got.loss, want.loss, 0.02 * want.loss) << step;
    EXPECT_NEAR(got.grad_norm, want.grad_norm, 0.05 * want.grad_norm) << step;
  }
}

// Weights, statistics, slots and Adam's count stay as they are; the scale halves until it fits.
TEST_P(HalfPrecision, AStepThatOverflowsChangesNothing) {
  for (const char* strategy : {"parameter_device", "sharded"}) {
    SmallRun run = half_run(2);
    run.strategy = strategy;
    run.ema = {.decay = 0.9};
    run.loss_scale.initial = 1e9;
    TowerTrainer trainer(run.options(), run.place());
    TrainingState before, after;
    trainer.team().lead([&] { take_state(trainer, before); });
    double scale = 1e9;
    int64_t step = 0;
    for (; run_steps(trainer, run, step, step + 1).skipped; ++step) {
      scale /= 2;
      EXPECT_EQ(trainer.loss_scale().scale, scale);
      trainer.team().lead([&] { take_state(trainer, after); });
      EXPECT_EQ(after.parameter_hash, before.parameter_hash);
      for (size_t slot = 0; slot < before.optimizer.size(); ++slot) {
        for (size_t t = 0; t < before.optimizer[slot].second.size(); ++t)
          EXPECT_EQ(after.optimizer[slot].second[t].values,
                    before.optimizer[slot].second[t].values);
      }
      ASSERT_LT(step, 30);
    }
    EXPECT_GT(step, 2);
    EXPECT_EQ(trainer.loss_scale().skipped, step);
    trainer.team().lead([&] { take_state(trainer, after); });
    EXPECT_NE(after.parameter_hash, before.parameter_hash);
    EXPECT_EQ(after.skipped_steps, step);
  }
}

TEST_P(HalfPrecision, TheScaleMovesWithTheCheckpoint) {
  SmallRun run = half_run(), other = half_run(2);
  run.loss_scale = other.loss_scale = {.initial = 1e8, .growth_interval = 2};
  uint64_t straight = hash_after(run, 12);
  TrainingState state = state_after(run, 5);
  EXPECT_GT(state.skipped_steps, 0);
  EXPECT_EQ(hash_after(other, 5, 12, &state), straight);
}

}  // namespace
}  // namespace spire
