// Tests low-rank adapters: they begin with the model as it was, train alone, have one hash on any
// devices, and merge into the weights of their layers.
#include "models/adapters.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>

#include "engine/base/adapter_names.h"
#include "engine/checkpoint/training_state.h"
#include "engine/train/state_tensors.h"
#include "tests/base/message_of.h"
#include "tests/train/same_hash.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

using Tensors = std::map<std::string, std::vector<float>>;

Tensors tensors_after(const SmallRun& run, int64_t steps) {
  TrainingState state = state_after(run, steps);
  Tensors tensors;
  for (const NamedTensor& tensor : state.weights) tensors[tensor.name] = tensor.values;
  return tensors;
}

std::vector<std::string> changed(const Tensors& before, const Tensors& after) {
  std::vector<std::string> names;
  for (const auto& [name, values] : after)
    if (values != before.at(name)) names.push_back(name);
  return names;
}

class Adapters : public SameHash {
 protected:
  // Convolutions conv1 and conv2, dense layers dense1 and dense2.
  SmallRun run_with(int64_t rank) const {
    SmallRun run;
    run.devices = devices(1);
    run.model.dropout = 0;
    run.adapt.lora = {.rank = rank, .alpha = 6};
    run.optimizer = {
        .name = OptimizerConfig::Name::adamw, .lr = 0.01, .weight_decay = 0.1, .clip_norm = 0.5};
    return run;
  }

  static double loss_of(const SmallRun& run, int64_t from, const TrainingState* state = nullptr) {
    TowerTrainer trainer(run.options(), run.place());
    if (state) restore(trainer, *state);
    return run_steps(trainer, run, from, from + 1).loss;
  }
};

TEST_P(Adapters, BeginWithTheModelAsItWas) {
  EXPECT_EQ(loss_of(run_with(3), 0), loss_of(run_with(0), 0));
  Tensors plain = tensors_after(run_with(0), 0);
  for (const auto& [name, values] : tensors_after(run_with(3), 0)) {
    if (adapted_layer(name).empty()) {
      EXPECT_EQ(values, plain.at(name)) << name;
    } else {
      bool zero = std::ranges::all_of(values, [](float value) { return value == 0; });
      EXPECT_EQ(zero, name.find(".lora_b.") != name.npos) << name;
    }
  }
}

TEST_P(Adapters, TrainAlone) {
  SmallRun run = run_with(3);
  EXPECT_THAT(changed(tensors_after(run, 0), tensors_after(run, 3)),
              UnorderedElementsAre("dense1.lora_a.weight", "dense1.lora_b.weight",
                                   "dense2.lora_a.weight", "dense2.lora_b.weight"));
  run.adapt.lora.patterns = {"*2"};
  EXPECT_THAT(changed(tensors_after(run, 0), tensors_after(run, 3)),
              UnorderedElementsAre("dense2.lora_a.weight", "dense2.lora_b.weight"));
  TowerTrainer trainer = planned_trainer(run);
  EXPECT_EQ(trainer.layout().parameter_count() - trainer.layout().frozen_count(), 3 * (16 + 4));
  EXPECT_EQ(trainer.layout().gradient_floats(), trainer.layout().trained_floats());
}

// What freeze leaves out trains beside the adapters, but for the adapted weights.
TEST_P(Adapters, TrainBesideWhatFreezeLeavesOut) {
  SmallRun run = run_with(2);
  run.adapt.lora.patterns = {"dense1"};
  run.freeze.patterns = {"conv*", "dense1*"};
  EXPECT_THAT(changed(tensors_after(run, 0), tensors_after(run, 3)),
              UnorderedElementsAre("dense1.lora_a.weight", "dense1.lora_b.weight", "dense2.weight",
                                   "dense2.bias"));
  run.freeze.patterns = {"conv*"};
  EXPECT_THAT(changed(tensors_after(run, 0), tensors_after(run, 3)),
              UnorderedElementsAre("dense1.lora_a.weight", "dense1.lora_b.weight", "dense1.bias",
                                   "dense2.weight", "dense2.bias"));
}

TEST_P(Adapters, HaveOneHashOnAnyDevicesAndRanks) {
  for (DType precision : {DType::f32, DType::bf16}) {
    SmallRun run = run_with(3);
    run.precision = precision;
    run.model.dropout = 0.2;
    expect_one_hash(run);
  }
}

TEST_P(Adapters, ContinueFromACheckpoint) {
  SmallRun run = run_with(3);
  expect_to_go_on_from_a_checkpoint(run);
}

TEST_P(Adapters, MergeIntoTheModelAlone) {
  SmallRun run = run_with(3);
  run.ema = {.decay = 0.5};
  TrainingState state = state_after(run, 3);
  auto saved = std::make_shared<TrainingState>(state);
  SmallRun plain = run_with(0);
  TowerTrainer trainer(plain.options(), plain.place());
  auto loss_of_merged = [&](bool averaged) {
    MergedTensors merged(saved, adapter_factor(run.adapt.lora), averaged);
    std::vector<float> flat(static_cast<size_t>(trainer.layout().total_floats()));
    read_weights(trainer.layout(), merged, averaged, flat.data());
    trainer.team().lead([&] {
      trainer.set_weights([&](const ParameterEntry& entry, std::span<float> values) {
        std::copy_n(flat.begin() + entry.offset, values.size(), values.begin());
      });
    });
    return run_steps(trainer, plain, 3, 4).loss;
  };
  double adapted = loss_of(run, 3, &state), merged = loss_of_merged(false);
  EXPECT_NEAR(merged, adapted, 1e-5 * adapted);
  EXPECT_GT(std::abs(merged - loss_of(plain, 3)), 1e-3);
  EXPECT_NE(loss_of_merged(true), merged);
}

SPIRE_TEST_ON_EACH_KIND(Adapters);

TEST(MergedTensors, AddTheProductToAnyPartOfAWeight) {
  auto state = std::make_shared<TrainingState>();
  state->weights = {{"d.weight", {2, 3}, {1, 2, 3, 4, 5, 6}},
                    {"d.lora_a.weight", {1, 3}, {1, 10, 100}},
                    {"d.lora_b.weight", {2, 1}, {1, 2}},
                    {"e.weight", {2}, {7, 8}}};
  MergedTensors merged(state, 0.5, false);
  ASSERT_EQ(merged.groups()[0].tensors.size(), 2u);
  std::vector<float> part(4);
  merged.read(0, 0, 1, part);
  EXPECT_THAT(part, testing::ElementsAre(7, 53, 5, 15));
  std::vector<float> other(2);
  merged.read(0, 1, 0, other);
  EXPECT_THAT(other, testing::ElementsAre(7, 8));
  EXPECT_EQ(merged.groups()[0].tensors[1].name, "e.weight");
}

TEST(AdaptDenseLayers, RefusesPatternsAndModelsWithoutDenseLayers) {
  SmallRun run;
  run.adapt.lora = {.rank = 2, .alpha = 2, .patterns = {"conv1"}};
  auto refusal = [&] {
    return message_of(Category::config, [&] { run.options().build(1, true); });
  };
  EXPECT_THAT(refusal(), HasSubstr("adapt.lora.patterns"));
  run.model = {.name = "unet", .channels = {4, 8}};
  run.adapt.lora.patterns = {};
  EXPECT_THAT(refusal(), HasSubstr("the model has no dense layers to adapt"));
}

TEST(AdaptConfig, IsReadAndChecked) {
  std::vector<std::string> words = {"adapt.lora.rank=8", "adapt.lora.alpha=4",
                                    "adapt.lora.patterns=[\"*.qkv\"]"};
  LoraConfig lora = parse_config({}, words).config.adapt.lora;
  EXPECT_EQ(lora.rank, 8);
  EXPECT_EQ(adapter_factor(lora), 0.5);
  EXPECT_THAT(lora.patterns, testing::ElementsAre("*.qkv"));
  EXPECT_EQ(adapter_factor(parse_config({}, {}).config.adapt.lora), 0);
  EXPECT_THROW(parse_config({}, {"adapt.lora.rank=-1"}), Error);
  EXPECT_THROW(parse_config({}, {"adapt.lora.alpha=0"}), Error);
}

// A head that shares its matrix with the table of tokens stays as it is.
TEST(AdaptDenseLayers, AdaptsTheLayersOfATransformer) {
  std::vector<Column> columns = {{"tokens", {6}, DType::i32}, {"targets", {6}, DType::i32}};
  ModelConfig gpt{.name = "gpt", .blocks = 1, .width = 8, .heads = 2};
  Graph graph = build_model(gpt, {}, {columns, 11, 2}, true);
  size_t nodes = graph.nodes().size();
  adapt_dense_layers(graph, {.rank = 2, .alpha = 2});
  EXPECT_EQ(graph.nodes().size(), nodes + 4 * 4);
  std::vector<std::string> adapted;
  for (Value value : graph.values_of(Role::parameter)) {
    const std::string& name = graph.tensor(value).name;
    if (name.ends_with(".lora_b.weight")) adapted.push_back(adapted_layer(name));
  }
  EXPECT_THAT(adapted, UnorderedElementsAre("block1.attention.qkv", "block1.attention.project",
                                            "block1.mlp.up", "block1.mlp.down"));
}

}  // namespace
}  // namespace spire
