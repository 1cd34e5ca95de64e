// Steps whose gradients the host reads or changes between backward and update, in every way to
// update, on CPUs, GPUs and several ranks.
#include <algorithm>
#include <barrier>
#include <functional>

#include <gtest/gtest.h>

#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

class StepInParts : public OnEachKind {};
SPIRE_TEST_ON_EACH_KIND(StepInParts);

// How a step is made from a batch.
using Step = std::function<void(TowerTrainer&, const Batch&, int64_t done, double lr)>;

void whole_step(TowerTrainer& trainer, const Batch& batch, int64_t done, double lr) {
  trainer.step(batch, done, lr);
}

constexpr int64_t steps = 3;

std::vector<uint64_t> train(const SmallRun& run, const Step& step) {
  std::vector<uint64_t> hashes(static_cast<size_t>(run.ranks));
  on_ranks(run, [&](TowerTrainer& trainer) {
    trainer.set_judge([](const StepOutcome&) { return true; });
    for_batches(trainer, run, run.dataset(), 0, steps, [&](const Batch& batch, int64_t done) {
      step(trainer, batch, done, run.optimizer.lr);
    });
    trainer.team().lead([&] {
      trainer.check_replicas();
      hashes[static_cast<size_t>(trainer.placement().rank)] = trainer.parameter_hash();
    });
  });
  return hashes;
}

struct PartsCase {
  const char* name;
  std::function<void(SmallRun&)> change;
  bool only_gpus = false;
};

const std::vector<PartsCase> parts_cases = {
    {"parameter device", [](SmallRun&) {}},
    {"mirrored", [](SmallRun& run) { run.strategy = "mirrored"; }},
    {"sharded, averaged",
     [](SmallRun& run) {
       run.strategy = "sharded";
       run.ema.decay = 0.9;
     }},
    {"batch norm, bf16",
     [](SmallRun& run) {
       run.model.normalization = ModelConfig::Normalization::batch_norm;
       run.precision = DType::bf16;
     }},
    {"fp16", [](SmallRun& run) { run.precision = DType::f16; }, true},
    {"updates on the host", [](SmallRun& run) { run.parameter_device = "cpu"; }, true},
};

// Calls body(run) for all rows: on one device, with one and two towers, on two, and, where it can,
// on two ranks of one and two devices.
void for_runs(DeviceKind kind, const std::function<void(SmallRun&)>& body) {
  for (const PartsCase& row : parts_cases) {
    if (row.only_gpus && kind != DeviceKind::cuda) continue;
    for (auto [ranks, devices] : std::vector<std::pair<int, int>>{{1, 1}, {1, 2}, {2, 2}, {2, 4}}) {
      if (!can_share(kind, devices, ranks)) continue;
      SmallRun run;
      run.ranks = ranks;
      run.devices = devices_of_rank(kind, devices, ranks);
      run.model.dropout = 0.2;
      run.towers = devices == 2 ? 2 : 4;
      run.judged = true;
      run.optimizer.weight_decay = 1e-3;
      row.change(run);
      SCOPED_TRACE(testing::Message() << row.name << ", " << ranks << " x " << devices);
      body(run);
    }
  }
}

TEST_P(StepInParts, HasTheBitsOfAStep) {
  for_runs(GetParam(), [](SmallRun& run) {
    // Where the host has read the gradients it has squared them, too, in the order of CPUs.
    if (run.devices[0].starts_with("cpu")) run.optimizer.clip_norm = 0.5;
    auto whole = train(run, whole_step);
    EXPECT_EQ(train(run,
                    [](TowerTrainer& trainer, const Batch& batch, int64_t done, double lr) {
                      trainer.compute_gradients(batch, done);
                      trainer.update(lr);
                    }),
              whole);
    EXPECT_EQ(train(run,
                    [](TowerTrainer& trainer, const Batch& batch, int64_t done, double lr) {
                      trainer.compute_gradients(batch, done);
                      trainer.gradients();  // to the host and back
                      trainer.update(lr);
                    }),
              whole)
        << "read";
  });
}

// Without momentum and decay, twice the gradient at half the rate is the same step. Rank 0's are
// taken.
TEST_P(StepInParts, UpdatesWithTheGradientsOfRankZero) {
  for_runs(GetParam(), [](SmallRun& run) {
    run.optimizer = {.name = OptimizerConfig::Name::sgd, .lr = 0.05, .momentum = 0};
    auto whole = train(run, whole_step);
    EXPECT_EQ(train(run,
                    [](TowerTrainer& trainer, const Batch& batch, int64_t done, double lr) {
                      trainer.compute_gradients(batch, done);
                      std::span<float> gradients = trainer.gradients();
                      float factor = trainer.placement().rank == 0 ? 2 : 0;
                      auto trained = static_cast<size_t>(trainer.layout().trained_floats());
                      for (float& value : gradients.first(trained)) value *= factor;
                      trainer.update(lr / 2);
                    }),
              whole);
  });
}

// The norm that clips is that of the changed gradients.
TEST_P(StepInParts, ClipsWhatWasWritten) {
  for_runs(GetParam(), [](SmallRun& run) {
    run.optimizer.clip_norm = 1e-3;
    train(run, [](TowerTrainer& trainer, const Batch& batch, int64_t done, double lr) {
      double norm = trainer.compute_gradients(batch, done).grad_norm;
      auto trained = static_cast<size_t>(trainer.layout().trained_floats());
      for (float& value : trainer.gradients().first(trained)) value *= 4;
      EXPECT_DOUBLE_EQ(trainer.update(lr).grad_norm, 4 * norm);
    });
  });
}

TEST_P(StepInParts, DiscardedGradientsLeaveNoTrace) {
  for_runs(GetParam(), [](SmallRun& run) {
    run.optimizer = {.name = OptimizerConfig::Name::adam, .lr = 0.01};  // counts its steps
    EXPECT_EQ(train(run,
                    [](TowerTrainer& trainer, const Batch& batch, int64_t done, double lr) {
                      for (bool reads : {false, true}) {
                        trainer.compute_gradients(batch, done);
                        if (reads) trainer.gradients()[0] = 1e30f;
                        trainer.discard_gradients();
                      }
                      trainer.step(batch, done, lr);
                    }),
              train(run, whole_step));
  });
}

// g = (n1 g1 + n2 g2) / (n1 + n2), and statistics likewise; loss and score are means, too.
TEST_P(StepInParts, FurtherBatchesAreAdded) {
  for_runs(GetParam(), [](SmallRun& run) {
    run.model.dropout = 0;
    const int64_t first = run.batch_size * run.towers, rest = 5;
    run.samples = first + rest;
    auto mean = [&](double a, double b) {
      return (static_cast<double>(first) * a + static_cast<double>(rest) * b) /
             static_cast<double>(first + rest);
    };
    // A rank that frees its loader's pinned memory waits for the GPUs, which here are those of all
    // ranks: none may begin a step that needs this one before it has done so.
    std::barrier all_ranks(run.ranks);
    on_ranks(run, [&](TowerTrainer& trainer) {
      trainer.set_judge([](const StepOutcome&) { return true; });
      struct Part {
        StepOutcome outcome;
        std::vector<float> gradients;
      };
      std::vector<Part> alone, joined;
      auto part_of = [&](const Batch& batch) {
        Part part{trainer.compute_gradients(batch, 0), {}};
        std::span<float> values = trainer.gradients();
        part.gradients.assign(values.begin(), values.end());
        return part;
      };
      for_batches(trainer, run, run.dataset(), 0, 2, [&](const Batch& batch, int64_t) {
        alone.push_back(part_of(batch));
        trainer.discard_gradients();
      });
      all_ranks.arrive_and_wait();
      uint64_t added = 0;
      for_batches(trainer, run, run.dataset(), 0, 2, [&](const Batch& batch, int64_t step) {
        joined.push_back(part_of(batch));
        if (step == 0) return;
        trainer.update(0.1);
        added = trainer.parameter_hash();
      });
      ASSERT_EQ(alone[0].outcome.samples, first);
      ASSERT_EQ(alone[1].outcome.samples, rest);
      EXPECT_EQ(joined[1].outcome.samples, first + rest);
      EXPECT_NEAR(joined[1].outcome.loss, mean(alone[0].outcome.loss, alone[1].outcome.loss),
                  1e-12);
      EXPECT_NEAR(joined[1].outcome.score, mean(alone[0].outcome.score, alone[1].outcome.score),
                  1e-12);
      for (size_t i = 0; i < alone[0].gradients.size(); ++i) {
        float expected = static_cast<float>(mean(alone[0].gradients[i], alone[1].gradients[i]));
        ASSERT_EQ(joined[1].gradients[i], expected) << i;
      }
      // The update is that of the mean, as if the host had written it.
      if (run.ranks > 1) return;
      TowerTrainer other(run.options(), run.place());
      other.set_judge([](const StepOutcome&) { return true; });
      for_batches(other, run, run.dataset(), 0, 1, [&](const Batch& batch, int64_t) {
        other.compute_gradients(batch, 0);
        std::ranges::copy(joined[1].gradients, other.gradients().begin());
        other.update(0.1);
        EXPECT_EQ(other.parameter_hash(), added);
      });
    });
  });
}

// fp16: a gradient that overflowed skips the update and lowers the scale, whatever the host made of
// it.
TEST_P(StepInParts, SkipsWhatOverflowed) {
  if (!on_gpu()) GTEST_SKIP() << "fp16 is for GPUs";
  SmallRun run;
  run.devices = devices(1);
  run.precision = DType::f16;
  run.judged = true;
  run.loss_scale.initial = 1e30;
  TowerTrainer trainer(run.options(), run.place());
  trainer.set_judge([](const StepOutcome&) { return true; });
  for_batches(trainer, run, run.dataset(), 0, 1, [&](const Batch& batch, int64_t done) {
    uint64_t before = trainer.parameter_hash();
    EXPECT_TRUE(trainer.compute_gradients(batch, done).skipped);
    for (float& value : trainer.gradients()) value = 1;
    EXPECT_TRUE(trainer.update(0.1).skipped);
    EXPECT_EQ(trainer.parameter_hash(), before);
    EXPECT_EQ(trainer.loss_scale().scale, 0.5e30);
  });
}

}  // namespace
}  // namespace spire
