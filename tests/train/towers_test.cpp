// Tests that training does not depend on the devices that run the towers.
#include <cmath>

#include <gmock/gmock.h>

#include "engine/base/fail.h"
#include "tests/base/message_of.h"
#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

struct TowersCase {
  std::string name;
  SmallRun run;
};

class Towers : public OnEachKind {};
SPIRE_TEST_ON_EACH_KIND(Towers);

TEST_P(Towers, TheHashDependsOnTheSeed) {  // so equal hashes elsewhere prove something
  SmallRun run, other;
  run.devices = other.devices = devices(1);
  other.seed = 4;
  EXPECT_NE(hash_after(run, 5), hash_after(other, 5));
}

// N towers of b samples are one tower of N b samples, to rounding, ragged last batch included.
TEST_P(Towers, AreOneTowerOfAllTheirSamples) {
  SmallRun whole = changed_run([](SmallRun& r) {
    r.model = {.name = "mlp", .hidden = {24}, .channels = {}};
    r.towers = 1;
    r.batch_size = 48;
    r.devices = devices(1);
  });
  auto reference = weights_after(whole, 7);
  for (int64_t towers : {2, 3, 8}) {
    SmallRun split = whole;
    split.towers = towers;
    split.batch_size = 48 / towers;
    auto weights = weights_after(split, 7);
    for (size_t i = 0; i < reference.size(); ++i)
      ASSERT_NEAR(weights[i], reference[i], 2e-6 + 1e-5 * std::abs(reference[i]))
          << towers << " towers";
  }
}

std::vector<StepOutcome> results_of(const SmallRun& run, int64_t steps, bool one_by_one) {
  std::vector<StepOutcome> results;
  on_ranks(run, [&](TowerTrainer& trainer) {
    std::vector<StepOutcome> mine;
    for_batches(trainer, run, run.dataset(), 0, steps, [&](const Batch& batch, int64_t step) {
      trainer.begin_step(batch, step, 0.01 * static_cast<double>(step + 1), step == 2);
      bool finishes = one_by_one || step + 1 == steps;
      while (trainer.under_way() > (finishes ? 0 : trainer.max_ahead()))
        mine.push_back(trainer.finish_step());
    });
    if (trainer.placement().rank == 0) results = mine;
  });
  return results;
}

// Runs with numbers that the host, or the device, may not know yet when the next step begins.
std::vector<TowersCase> runs_with_late_numbers(DeviceKind kind) {
  std::vector<TowersCase> cases = {
      {"clipped", changed_run([](SmallRun& r) { r.optimizer.clip_norm = 0.5; })},
      {"sums over towers", changed_run([](SmallRun& r) {
         r.model.normalization = ModelConfig::Normalization::batch_norm;
         r.model.batch_norm = ModelConfig::BatchNorm::sync;
       })}};
  if (kind == DeviceKind::cpu) return cases;
  for (const char* name : {"adamw", "lamb"}) {
    cases.push_back({name, changed_run([&](SmallRun& r) {
                       r.precision = DType::f16;
                       r.optimizer = {.name = *find_word<OptimizerConfig::Name>(name),
                                      .lr = 0.01,
                                      .clip_norm = 0.5};
                       r.ema = {.decay = 0.9};
                       r.loss_scale = {.initial = 2e6, .growth_interval = 2};
                     })});
  }
  return cases;
}

// The next step may have begun to write its numbers by then.
TEST_P(Towers, AStepsNumbersAreItsOwnHoweverLateTheyAreRead) {
  for (TowersCase c : runs_with_late_numbers(GetParam())) {
    for (int ranks : rank_counts({1, 2})) {
      SCOPED_TRACE(fmt::format("{}, {} ranks", c.name, ranks));
      c.run.ranks = ranks;
      c.run.devices = ranks == 1 ? devices(2) : devices_of_ranks(ranks);
      auto expected = results_of(c.run, 9, true), got = results_of(c.run, 9, false);
      ASSERT_EQ(got.size(), 9u);
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i].step, static_cast<int64_t>(i) + 1);
        EXPECT_EQ(got[i].samples, expected[i].samples);
        EXPECT_EQ(got[i].lr, expected[i].lr);
        EXPECT_EQ(got[i].loss, expected[i].loss);
        EXPECT_EQ(got[i].score, expected[i].score);
        EXPECT_TRUE(got[i].skipped || got[i].grad_norm == expected[i].grad_norm);
        EXPECT_EQ(got[i].loss_scale, expected[i].loss_scale);
        EXPECT_EQ(got[i].skipped, expected[i].skipped);
        EXPECT_EQ(got[i].stop, i == 2);
      }
      bool half = c.run.precision == DType::f16;
      int64_t skipped = got.back().skipped_steps;
      EXPECT_TRUE(half ? skipped > 0 && skipped < 9 : skipped == 0) << skipped;
    }
  }
}

TEST_P(Towers, LearnWhatCanBeLearned) {
  SmallRun run = changed_run([](SmallRun& r) {
    r.model.dropout = 0;
    r.optimizer.lr = 0.01;
    r.devices = devices(1);
  });
  TowerTrainer trainer(run.options(), run.place());
  double first = run_steps(trainer, run, 0, 1).loss;
  EXPECT_NEAR(first, std::log(4.0), 1.0);
  run_steps(trainer, run, 1, 126);
  double last = 0;  // of two epochs
  for (int64_t step = 126; step < 140; ++step)
    last += run_steps(trainer, run, step, step + 1).loss / 14;
  EXPECT_LT(last, 0.2 * first);
}

// Each kind of device has its kernels, which give the same numbers to rounding.
TEST_P(Towers, TrainWhatOneCpuTrains) {
  for (bool graphs : {true, false}) {
    SmallRun run = changed_run([&](SmallRun& r) {
      r.model.normalization = ModelConfig::Normalization::batch_norm;
      r.cuda.graphs = graphs;
    });
    SmallRun there = run;
    there.devices = devices(2);
    TowerTrainer cpu(run.options(), run.place()), other(there.options(), there.place());
    for (int64_t step = 0; step < 9; ++step) {
      StepOutcome want = run_steps(cpu, run, step, step + 1);
      StepOutcome got = run_steps(other, there, step, step + 1);
      EXPECT_NEAR(got.loss, want.loss, 2e-4 * want.loss) << "step " << step;
      EXPECT_NEAR(got.grad_norm, want.grad_norm, 2e-3 * want.grad_norm) << "step " << step;
      EXPECT_EQ(got.score, want.score) << "step " << step;
    }
  }
}

TEST_P(Towers, EvaluationIsTheSameNumberOnAnyDevices) {
  std::vector<EvaluationSums> sums;
  for (int count : {1, 2, 3}) {
    SmallRun run;
    run.devices = devices(count);
    TowerTrainer trainer(run.options(), run.place());
    run_steps(trainer, run, 0, 10);
    EvaluationSums& sum = sums.emplace_back(evaluate(trainer, run, run.dataset({}, 77)));
    EXPECT_EQ(sum.samples, run.samples);  // each sample once, and no padding
    // Lanes that waited would be a deadlock in the watchdog's eyes, however long the caller takes.
    for (const PhaseRow& row : trainer.status().read())
      EXPECT_EQ(row.phase, Phase::idle) << row.thread;
    EXPECT_EQ(sum.loss, sums[0].loss);
    EXPECT_EQ(sum.score, sums[0].score);
  }
}

void expect_same_values(const TrainingState& a, const TrainingState& b) {
  ASSERT_EQ(a.optimizer.size(), b.optimizer.size());
  for (size_t group = 0; group < 2 + a.optimizer.size(); ++group) {
    const auto &left = a.group(group), &right = b.group(group);
    ASSERT_EQ(left.size(), right.size());
    for (size_t i = 0; i < left.size(); ++i) EXPECT_EQ(left[i].values, right[i].values);
  }
}

TEST_P(Towers, ASnapshotStaysAndTheStateItselfIsTheSame) {
  SmallRun run = changed_run([](SmallRun& r) {
    r.optimizer = {.name = OptimizerConfig::Name::adam, .lr = 0.01};
    r.ema = {.decay = 0.9};
  });
  run.devices = devices(2);
  for (const char* strategy : {"parameter_device", "sharded"}) {
    run.strategy = strategy;
    TrainingState states[2];
    for (SnapshotChoice choice : {SnapshotChoice::never, SnapshotChoice::always}) {
      run.snapshot = choice;
      TowerTrainer trainer(run.options(), run.place());
      EXPECT_EQ(trainer.keeps_snapshot(), choice == SnapshotChoice::always);
      run_steps(trainer, run, 0, 3);
      TrainingState& state = states[trainer.keeps_snapshot() ? 1 : 0];
      take_state(trainer, state);
      if (!trainer.keeps_snapshot()) continue;
      run_steps(trainer, run, 3, 4);
      TrainingState kept;
      read_all(trainer.state(), kept);
      EXPECT_EQ(kept.weights[0].values, state.weights[0].values) << strategy;
    }
    ASSERT_EQ(states[0].optimizer.size(), 3u);
    expect_same_values(states[0], states[1]);
  }
}

// 2.5 million weights are read in two pieces, the second of which begins inside a tensor.
TEST_P(Towers, AStateOfSeveralPiecesIsGatheredAndRestored) {
  SmallRun run = changed_run([](SmallRun& r) {
    r.batch_size = 1;
    r.towers = 2;
    r.model = {.name = "mlp", .hidden = {2000, 1200}};
    r.optimizer = {.name = OptimizerConfig::Name::adam, .lr = 0.01};
  });
  run.devices = devices(1);
  TrainingState one = state_after(run, 1);
  if (rank_counts({2}).empty()) GTEST_SKIP() << "two ranks need two devices";
  run.ranks = 2;
  run.devices = devices_of_ranks(run.ranks);
  for (const char* strategy : {"parameter_device", "sharded"}) {
    SCOPED_TRACE(strategy);
    run.strategy = strategy;
    expect_same_values(state_after(run, 1), one);
    TrainingState again;
    on_ranks(run, [&](TowerTrainer& trainer) {
      TrainingState mine;
      restore(trainer, one);
      trainer.team().lead([&] { take_state(trainer, mine); });
      if (trainer.placement().rank == 0) again = mine;
    });
    expect_same_values(again, one);
  }
}

TEST_P(Towers, StateOfAnotherModelIsRefusedByName) {
  SmallRun run;
  run.devices = devices(1);
  TowerTrainer trainer(run.options(), run.place());
  TrainingState state;
  take_state(trainer, state);
  SmallRun other = run;
  other.model.hidden = {17};
  TowerTrainer receiver(other.options(), other.place());
  EXPECT_THAT(message_of(Category::checkpoint, [&] { restore(receiver, state); }),
              testing::HasSubstr("dense"));
}

}  // namespace
}  // namespace spire
