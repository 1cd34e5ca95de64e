// Tests frozen parameters: they keep their bits and cost neither state nor communication, and what
// is trained has the gradients that it would have without them.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/hash.h"
#include "engine/base/name_patterns.h"
#include "engine/train/model_graph.h"
#include "engine/train/state_tensors.h"
#include "engine/update/ownership.h"
#include "tests/base/message_of.h"
#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

using Tensors = std::map<std::string, std::vector<float>>;

Tensors tensors_of(const TowerTrainer& trainer) {
  Tensors tensors;
  const float* weights = trainer.weights();
  for (const ParameterEntry& entry : trainer.layout().entries())
    tensors[entry.name].assign(weights + entry.offset, weights + entry.offset + entry.elements());
  return tensors;
}

Tensors tensors_after(const SmallRun& run, int64_t steps) {
  TowerTrainer trainer(run.options(), run.place());
  run_steps(trainer, run, 0, steps);
  return tensors_of(trainer);
}

int64_t bytes_of(const MemoryByKind& memory, const std::string& kind) {
  for (const auto& [name, bytes] : memory)
    if (name == kind) return bytes;
  return -1;
}

class Freeze : public OnEachKind {
 protected:
  // Convolution and batch norm conv1 and conv2, then dense layers; everything that could move a
  // weight does: decay, clipping, averages.
  SmallRun run_with(const std::vector<std::string>& patterns) const {
    SmallRun run;
    run.devices = devices(1);
    run.model.normalization = ModelConfig::Normalization::batch_norm;
    run.freeze.patterns = patterns;
    run.optimizer = {
        .name = OptimizerConfig::Name::adamw, .lr = 0.01, .weight_decay = 0.1, .clip_norm = 0.5};
    run.ema = {.decay = 0.9};
    return run;
  }
};

// Running statistics of a frozen batch norm stay as well; those of others move. The host may update
// a GPU's weights.
TEST_P(Freeze, KeepsTheBitsOfWeightsAndStatistics) {
  SmallRun run = run_with({"conv1.*", "dense1.bias"});
  for (bool by_host : {false, true}) {
    if (by_host && !on_gpu()) continue;
    if (by_host) run.parameter_device = "cpu";
    Tensors before = tensors_after(run, 0), after = tensors_after(run, 5);
    for (const auto& [name, values] : after) {
      bool frozen = name.starts_with("conv1.") || name == "dense1.bias";
      EXPECT_EQ(values == before.at(name), frozen) << name;
    }
  }
}

// A batch norm that still computes its statistics from the batch lets them follow it.
TEST_P(Freeze, BatchNormMayKeepFollowingTheBatches) {
  SmallRun run = run_with({"conv1.*"});
  run.freeze.batch_norm = false;
  Tensors before = tensors_after(run, 0), after = tensors_after(run, 2);
  for (const char* name : {"conv1.weight", "conv1.norm.gamma", "conv1.norm.beta"})
    EXPECT_EQ(after.at(name), before.at(name)) << name;
  for (const char* name : {"conv1.norm.running_mean", "conv1.norm.running_var"})
    EXPECT_NE(after.at(name), before.at(name)) << name;
}

// One step of plain SGD with rate 1 subtracts the gradient.
void expect_gradients_of_the_whole(SmallRun run, const std::vector<std::string>& patterns) {
  run.optimizer = {.name = OptimizerConfig::Name::sgd, .lr = 1, .momentum = 0};
  run.ema = {};
  run.freeze = {};
  Tensors whole = tensors_after(run, 1);
  run.freeze = {.patterns = patterns, .batch_norm = false};
  for (const auto& [name, values] : tensors_after(run, 1)) {
    bool frozen = first_match(patterns, name) && name.find("running") == name.npos;
    EXPECT_EQ(values == whole.at(name), !frozen) << name << ", frozen " << patterns[0];
  }
}

TEST_P(Freeze, OthersHaveTheGradientsOfTheWholeModel) {
  expect_gradients_of_the_whole(run_with({}), {"conv1.*", "conv2.weight", "dense1.*"});
}

// The gradient of a weight is then computed without that of its bias.
TEST_P(Freeze, AFrozenBiasKeepsTheBitsOfItsWeightsGradient) {
  SmallRun run = run_with({});
  run.model.normalization = ModelConfig::Normalization::none;
  for (DType precision : {DType::f32, DType::bf16}) {
    run.precision = precision;
    expect_gradients_of_the_whole(run, {"dense1.bias", "conv1.bias", "conv2.bias"});
  }
}

TEST_P(Freeze, PartsOfAResnetKeepTheGradientsOfTheRest) {
  SmallRun run = run_with({});
  run.model = {.name = "resnet", .depth = 8};
  for (const char* pattern : {"stage1.block1.*", "*.gamma", "*.beta"})
    expect_gradients_of_the_whole(run, {pattern});
}

TEST_P(Freeze, CostsNoGradientsNoStateAndNoExchange) {
  SmallRun run = run_with({});
  run.model.hidden = {200, 100};
  auto planned = [&] {
    TowerTrainer trainer = planned_trainer(run);
    return std::pair{trainer.layout(), trainer.planned_memory()[0]};
  };
  auto [whole, all] = planned();
  run.freeze.patterns = {"conv*", "dense1.*", "dense2.*"};
  auto [layout, memory] = planned();
  EXPECT_EQ(layout.parameter_count(), whole.parameter_count());
  EXPECT_EQ(layout.total_floats(), whole.total_floats());
  EXPECT_GT(layout.frozen_count(), layout.parameter_count() / 2);
  EXPECT_EQ(layout.gradient_floats(), layout.trained_floats());  // no batch norm updates a state
  EXPECT_EQ(make_buckets(layout.gradient_floats(), run.bucket, DeviceKind::cpu, 1).back().end,
            layout.trained_floats());
  constexpr int64_t slots = 3;  // adamw's two and the average
  int64_t frozen = whole.trained_floats() - layout.trained_floats();
  int64_t saved = bytes_of(all, "optimizer") - bytes_of(memory, "optimizer");
  EXPECT_GE(saved, 4 * slots * frozen);
  if (!on_gpu()) {  // a GPU has tables there as well
    EXPECT_EQ(bytes_of(memory, "optimizer"), 4 * slots * layout.trained_floats());
  }
  EXPECT_LT(bytes_of(memory, "gradients"), bytes_of(all, "gradients") / 2);
  EXPECT_LE(bytes_of(memory, "weights"), bytes_of(all, "weights"));  // no forms for backward
}

TEST_P(Freeze, PeaksAreThePlan) {
  SmallRun run = run_with({"conv1.*", "dense1.*"});
  run.devices = devices(2);
  for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
    run.strategy = strategy;
    TowerTrainer trainer(run.options(), run.place());
    run_steps(trainer, run, 0, 1);
    EXPECT_EQ(trainer.peak_memory(), trainer.planned_memory()) << strategy;
  }
}

// The statistics of conv1 need a sum over towers in forward, and nothing of it any in backward.
TEST_P(Freeze, SyncedBatchNormsBelowNeedNoSumInBackward) {
  SmallRun run = run_with({"conv1.*"});
  run.model.batch_norm = ModelConfig::BatchNorm::sync;
  run.freeze.batch_norm = false;
  uint64_t expected = hash_after(run, 3);
  run.devices = devices(2);
  for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
    run.strategy = strategy;
    EXPECT_EQ(hash_after(run, 3), expected) << strategy;
  }
}

TEST_P(Freeze, RecomputedBlocksKeepTheBits) {
  for (const char* pattern : {"conv1.*", "conv2.*"}) {  // the second: between trained layers
    SmallRun run = run_with({pattern});
    uint64_t expected = hash_after(run, 3);
    run.recompute = true;
    EXPECT_EQ(hash_after(run, 3), expected) << pattern;
  }
}

// The state of rank 0 reaches ranks that began with other weights; the frozen ones, too.
TEST_P(Freeze, ContinuesFromACheckpointOnAnyRanks) {
  SmallRun run = run_with({"conv1.*", "dense1.*"});
  run.optimizer.clip_norm = 0;  // so that CPUs add up gradients in the update
  uint64_t straight = hash_after(run, 4);
  TrainingState state = state_after(run, 2);
  run.seed = 3;
  for (int ranks : rank_counts({1, 2})) {
    run.ranks = ranks;
    run.devices = devices_of_ranks(ranks);
    for (const char* strategy : {"parameter_device", "sharded"}) {
      run.strategy = strategy;
      on_ranks(run, [&](TowerTrainer& trainer) {
        trainer.team().lead([&] {
          trainer.set_weights([](const ParameterEntry&, std::span<float> values) {
            std::ranges::fill(values, 7.0f);
          });
        });
        restore(trainer, state);
        run_steps(trainer, run, 2, 4);
        trainer.team().lead([&] { trainer.check_replicas(); });
        EXPECT_EQ(trainer.parameter_hash(), straight) << ranks << " " << strategy;
      });
    }
  }
}

SPIRE_TEST_ON_EACH_KIND(Freeze);

class FrozenState : public Freeze {
 protected:
  static std::string refusal(const SmallRun& run, const TrainingState& state) {
    return message_of(Category::checkpoint, [&] {
      TowerTrainer trainer(run.options(), run.place());
      restore(trainer, state);
    });
  }
};

TEST_P(FrozenState, OfOtherParametersIsRefused) {
  TrainingState state = state_after(run_with({"conv1.*"}), 1);
  EXPECT_THAT(
      refusal(run_with({}), state),
      testing::ContainsRegex("has no optimizer state 'm' of 'conv1[a-z.]*', which its run has "
                             "frozen and this one trains: resume with the freeze"));
  EXPECT_THAT(refusal(run_with({"conv*"}), state),
              testing::ContainsRegex("has an optimizer state 'm' of 'conv2[a-z.]*', which this run "
                                     "freezes: resume with the freeze"));
}

// Without slots nothing is missing: any others may be frozen from here on. An average begins with
// the weights where the checkpoint has none.
TEST_P(FrozenState, WithoutSlotsMayChange) {
  SmallRun run = run_with({"conv1.*"});
  run.optimizer = {.name = OptimizerConfig::Name::sgd, .lr = 0.1, .momentum = 0};
  for (double decay : {0.0, 0.9}) {
    run.ema.decay = decay;
    run.freeze.patterns = {"conv1.*"};
    TrainingState state = state_after(run, 1);
    run.freeze.patterns = {"conv2.*"};
    TowerTrainer trainer(run.options(), run.place());
    restore(trainer, state);
    EXPECT_EQ(hex(trainer.parameter_hash()), state.parameter_hash);
  }
}

// Those who only read a model freeze nothing: its average has the frozen weights themselves.
TEST_P(FrozenState, AveragesIncludeTheFrozenWeights) {
  SmallRun run = run_with({"conv1.*"});
  TrainingState state = state_after(run, 2);
  Tensors frozen = tensors_after(run, 0);
  run.freeze = {};
  TowerTrainer reader(run.options(), run.place());
  std::vector<float> flat(static_cast<size_t>(reader.layout().total_floats()));
  read_weights(reader.layout(), state, true, flat.data());
  for (const ParameterEntry& entry : reader.layout().entries()) {
    if (!entry.name.starts_with("conv1.")) continue;
    auto begin = flat.begin() + entry.offset;
    EXPECT_TRUE(std::equal(begin, begin + entry.elements(), frozen.at(entry.name).begin()))
        << entry.name;
  }
}

SPIRE_TEST_ON_EACH_KIND(FrozenState);

}  // namespace
}  // namespace spire
