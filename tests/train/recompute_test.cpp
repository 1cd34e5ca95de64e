// Tests that memory.recompute: blocks trains the same bits in less memory, on any devices.
#include <gtest/gtest.h>

#include "tests/train/small_run.h"

namespace spire {
namespace {

constexpr int64_t steps = 12;  // more than one epoch: ragged last batches are among them

struct Case {
  std::string name;
  ModelConfig model;
  DType precision = DType::f32;
};

SmallRun small(const Case& c, bool recompute) {
  SmallRun run;
  run.model = c.model;
  run.precision = c.precision;
  run.recompute = recompute;
  return run;
}

int64_t planned_activations(const TowerTrainer& trainer) {
  auto memory = trainer.planned_memory();
  for (const auto& [kind, bytes] : memory[0]) {
    if (kind == "activations") return bytes;
  }
  return 0;
}

class Recompute : public testing::TestWithParam<Case> {};

TEST_P(Recompute, TrainsTheSameBitsOnAnyDevices) {
  uint64_t kept = hash_after(small(GetParam(), false), steps);
  SmallRun run = small(GetParam(), true);
  EXPECT_EQ(hash_after(run, steps), kept);
  run.devices = {"cpu:0", "cpu:1"};
  EXPECT_EQ(hash_after(run, steps), kept);
}

TEST_P(Recompute, LossAndNormOfEveryStepAreTheSame) {
  SmallRun plain = small(GetParam(), false), anew = small(GetParam(), true);
  TowerTrainer a(plain.options(), plain.place()), b(anew.options(), anew.place());
  for (int64_t step = 0; step < 4; ++step) {
    StepOutcome one = run_steps(a, plain, step, step + 1),
                other = run_steps(b, anew, step, step + 1);
    EXPECT_EQ(one.loss, other.loss) << step;
    EXPECT_EQ(one.grad_norm, other.grad_norm) << step;
  }
}

TEST_P(Recompute, ReportsThePlannedBytesWithAndWithout) {
  SmallRun plain = small(GetParam(), false), anew = small(GetParam(), true);
  plain.batch_size = anew.batch_size = 16;  // inside a block there is more than the gradients hold
  TowerTrainer a(plain.options(), plain.place()), b(anew.options(), anew.place());
  EXPECT_FALSE(a.recompute());
  ASSERT_TRUE(b.recompute());
  EXPECT_GT(b.recompute()->nodes, 0);
  EXPECT_LT(b.recompute()->bytes, b.recompute()->bytes_without);
  int64_t arenas = planned_activations(b) / b.recompute()->bytes;  // in lockstep one a tower
  EXPECT_EQ(planned_activations(b), arenas * b.recompute()->bytes);
  EXPECT_EQ(planned_activations(a), arenas * b.recompute()->bytes_without);
}

INSTANTIATE_TEST_SUITE_P(
    All, Recompute,
    testing::Values(
        Case{"cnn_batch_norm_dropout",
             {.name = "cnn",
              .hidden = {16, 16},
              .channels = {4, 8},
              .dropout = 0.2,
              .normalization = ModelConfig::Normalization::batch_norm}},
        Case{"resnet", {.name = "resnet", .depth = 14}},
        Case{"resnet_bf16", {.name = "resnet", .depth = 14}, DType::bf16},
        Case{"resnet_sync_batch_norm",
             {.name = "resnet", .depth = 14, .batch_norm = ModelConfig::BatchNorm::sync}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
