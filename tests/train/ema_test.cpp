// Tests averaged weights: their recurrence, the same bits on all devices, and that evaluation with
// them leaves training as it is.
#include <cmath>

#include <gtest/gtest.h>

#include <spire/error.h>

#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

SmallRun averaged_run(DeviceKind kind) {
  SmallRun run;
  run.devices = devices_of(kind, 1);
  run.model.normalization = ModelConfig::Normalization::batch_norm;
  run.model.hidden = {200, 100};  // several buckets
  run.ema = {.decay = 0.9, .warmup = true};
  run.towers = 8;
  run.batch_size = 2;
  return run;
}

std::vector<SmallRun> places_of(const SmallRun& base, DeviceKind kind) {
  std::vector<SmallRun> places;
  for (auto [ranks, devices, strategy] :
       std::vector<std::tuple<int, int, const char*>>{{1, 1, "parameter_device"},
                                                      {1, 4, "parameter_device"},
                                                      {2, 2, "parameter_device"},
                                                      {1, 2, "mirrored"},
                                                      {2, 2, "mirrored"},
                                                      {1, 4, "sharded"},
                                                      {4, 2, "sharded"}}) {
    bool gpu = kind == DeviceKind::cuda;  // one process drives all GPUs
    SmallRun& run = places.emplace_back(base);
    run.ranks = gpu ? 1 : ranks;
    run.devices = devices_of(kind, gpu ? ranks * devices : devices);
    run.strategy = strategy;
  }
  return places;
}

// Returns the weights that evaluation uses.
std::vector<float> average_of(TowerTrainer& trainer) {
  std::vector<float> average;
  trainer.team().lead([&] {
    trainer.begin_evaluation();
    average = weights_of(trainer);
    trainer.end_evaluation();
  });
  return average;
}

class EmaInTraining : public OnEachKind {};
SPIRE_TEST_ON_EACH_KIND(EmaInTraining);

TEST_P(EmaInTraining, IsTheRecurrenceOverTheWeights) {
  SmallRun run = averaged_run(GetParam());
  TowerTrainer trainer(run.options(), run.place());
  std::vector<float> start = weights_of(trainer);
  std::vector<double> expected(start.begin(), start.end());
  auto trained = static_cast<size_t>(trainer.layout().trained_floats());
  for (int64_t step = 1; step <= (on_gpu() ? 5 : 12); ++step) {
    run_steps(trainer, run, step - 1, step);
    auto weights = weights_of(trainer);
    auto t = static_cast<double>(step);
    double decay = std::min(0.9, (1 + t) / (10 + t));
    for (size_t i = 0; i < trained; ++i)
      expected[i] = decay * expected[i] + (1 - decay) * double{weights[i]};
  }
  auto average = average_of(trainer), weights = weights_of(trainer);
  for (size_t i = 0; i < trained; ++i) ASSERT_NEAR(average[i], expected[i], 1e-6);
  for (size_t i = trained; i < weights.size(); ++i)
    ASSERT_EQ(average[i], weights[i]);  // statistics are the current ones
  EXPECT_TRUE(average != weights);
}

struct Outcome {
  uint64_t parameters = 0, average = 0;
  double loss = 0, score = 0;
  bool operator==(const Outcome&) const = default;
};

// Trains, evaluates in between, and trains on.
Outcome outcome_of(const SmallRun& run, int64_t half, int64_t end) {
  Outcome outcome;
  on_ranks(run, [&](TowerTrainer& trainer) {
    run_steps(trainer, run, 0, half);
    EvaluationSums sums = evaluate(trainer, run, run.dataset({}, 77));
    run_steps(trainer, run, half, end);
    uint64_t average = 0;
    trainer.team().lead([&] {
      average = trainer.average_hash().value_or(0);
      trainer.check_replicas();
    });
    if (trainer.placement().rank == 0)
      outcome = {trainer.parameter_hash(), average, sums.loss, sums.score};
  });
  return outcome;
}

TEST_P(EmaInTraining, OneOutcomeForAllDevicesProcessesAndStrategies) {
  for (const char* optimizer : {"sgd", "lamb"}) {
    SmallRun base = averaged_run(GetParam());
    base.optimizer.name = *find_word<OptimizerConfig::Name>(optimizer);
    int64_t half = on_gpu() ? 1 : 9, end = on_gpu() ? 2 : 20;  // emulated GPUs are slow
    Outcome expected = outcome_of(base, half, end);
    EXPECT_NE(expected.average, expected.parameters);
    for (const SmallRun& run : places_of(base, GetParam())) {
      EXPECT_EQ(outcome_of(run, half, end), expected)
          << run.ranks << " x " << run.devices.size() << " " << run.strategy;
    }
  }
}

TEST_P(EmaInTraining, TrainsTheSameWeightsAsWithoutIt) {
  SmallRun run = averaged_run(GetParam());
  int64_t half = on_gpu() ? 2 : 9, end = on_gpu() ? 4 : 20;
  uint64_t with = outcome_of(run, half, end).parameters;
  run.ema = {};
  EXPECT_EQ(hash_after(run, end), with);
}

TEST_P(EmaInTraining, EvaluationIsThatOfTheAverage) {
  SmallRun run = averaged_run(GetParam());
  TowerTrainer trainer(run.options(), run.place());
  run_steps(trainer, run, 0, 15);
  auto average = average_of(trainer);
  SmallRun plain = run;
  plain.ema = {};
  TowerTrainer other(plain.options(), plain.place());
  other.team().lead([&] {
    other.set_weights([&](const ParameterEntry& entry, std::span<float> values) {
      std::copy_n(average.begin() + entry.offset, values.size(), values.begin());
    });
  });
  ImageDataset data = run.dataset({}, 77);
  EvaluationSums sums = evaluate(trainer, run, data), expected = evaluate(other, plain, data);
  EXPECT_EQ(sums.loss, expected.loss);
  EXPECT_EQ(sums.score, expected.score);
}

TEST_P(EmaInTraining, AWrittenWeightBeginsItsAverageAnewAndNoOther) {
  SmallRun run = averaged_run(GetParam());
  TowerTrainer trainer(run.options(), run.place());
  run_steps(trainer, run, 0, 5);
  std::vector<float> weights = weights_of(trainer), average = average_of(trainer);
  const ParameterEntry& entry = trainer.layout().entries()[1];
  std::vector<float> values(static_cast<size_t>(entry.elements()), 0.125f), read(values.size());
  trainer.team().lead([&] {
    trainer.write_weight(entry, values);
    trainer.read_weight(entry, read);
  });
  EXPECT_EQ(read, values);
  std::ranges::copy(values, weights.begin() + entry.offset);
  std::ranges::copy(values, average.begin() + entry.offset);
  EXPECT_EQ(weights_of(trainer), weights);
  EXPECT_EQ(average_of(trainer), average);
}

// Returns the average's hash after more steps from the state.
uint64_t average_after(const SmallRun& run, const TrainingState& state, int64_t from, int64_t to) {
  uint64_t hash = 0;
  on_ranks(run, [&](TowerTrainer& trainer) {
    restore(trainer, state);
    run_steps(trainer, run, from, to);
    uint64_t average = 0;
    trainer.team().lead([&] { average = trainer.average_hash().value_or(0); });
    if (trainer.placement().rank == 0) hash = average;
  });
  return hash;
}

TEST_P(EmaInTraining, MovesWithTheCheckpoint) {
  SmallRun base = averaged_run(GetParam());
  int64_t half = on_gpu() ? 1 : 7, end = on_gpu() ? 2 : 20;
  uint64_t straight = outcome_of(base, half, end).average;
  auto places = places_of(base, GetParam());
  for (size_t from : {1, 4, 6}) {
    TrainingState state = state_after(places[from], half);
    EXPECT_EQ(state.optimizer.back().first, "ema");
    for (size_t to : {0, 3, 5})
      EXPECT_EQ(average_after(places[to], state, half, end), straight) << from << " to " << to;
  }
}

TEST_P(EmaInTraining, BeginsWithTheWeightsOfACheckpointThatHasNone) {
  SmallRun run = averaged_run(GetParam());
  SmallRun plain = run;
  plain.ema = {};
  int64_t steps = on_gpu() ? 2 : 7;
  TrainingState state = state_after(plain, steps);
  for (const SmallRun& place : places_of(run, GetParam())) {
    uint64_t hash = average_after(place, state, steps, steps);
    EXPECT_EQ(hash, hash_after(plain, steps)) << place.strategy;
  }
}

TEST_P(EmaInTraining, AStepBeforeTheEndOfAnEvaluationIsRefused) {
  SmallRun run = averaged_run(GetParam());
  TowerTrainer trainer(run.options(), run.place());
  TrainingState state;
  trainer.team().lead([&] {
    trainer.begin_evaluation();
    EXPECT_THROW(trainer.step({}, 0, 0.1), Error);
    EXPECT_THROW(take_state(trainer, state), Error);
    trainer.end_evaluation();
    take_state(trainer, state);
  });
}

}  // namespace
}  // namespace spire
