// Tests a small GPT and a small Llama on tokens: one hash for all devices, and a loss that nears
// the entropy of the data.
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "engine/base/name_patterns.h"
#include "engine/data/dataset.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

constexpr int64_t test_length = 12, test_vocabulary = 16, sample_count = 75;

DataConfig token_data() {
  DataConfig data;
  data.name = "synthetic";
  data.synthetic = {.kind = SyntheticConfig::Kind::tokens,
                    .shape = {test_length},
                    .classes = test_vocabulary,
                    .samples = sample_count,
                    .test_samples = 8};
  return data;
}

const ModelConfig small_gpt = {.name = "gpt", .dropout = 0.1, .blocks = 2, .width = 32, .heads = 4};
const ModelConfig small_llama = {
    .name = "llama", .dropout = 0.1, .blocks = 2, .width = 32, .heads = 4, .kv_heads = 2};

SmallRun token_run(const ModelConfig& model, DType precision) {
  SmallRun run;
  run.model = model;
  run.loss.z_loss = model.name == "llama" ? 1e-3 : 0;
  run.optimizer = {.name = OptimizerConfig::Name::adamw,
                   .lr = 0.01,
                   .weight_decay = 0.1,
                   .decay = OptimizerConfig::Decay::matrices};
  run.samples = sample_count;
  run.batch_size = 2;
  run.towers = 8;
  run.precision = precision;
  return run;
}

struct Ended {
  uint64_t hash = 0;
  std::map<std::string, std::vector<float>> weights = {};  // by name
  double first_loss = 0, last_loss = 0;
};

// Runs steps of epochs whose last batch leaves some towers without samples.
Ended train(const SmallRun& run, int64_t steps) {
  DatasetPair data = open_dataset(token_data(), {.dtype = run.precision, .seed = run.seed});
  TowerTrainer trainer(run.options(*data.train), run.place());
  Ended ended;
  ended.first_loss = run_steps(trainer, run, *data.train, 0, 1).loss;
  ended.last_loss = steps > 1 ? run_steps(trainer, run, *data.train, 1, steps).loss : 0;
  ended.hash = trainer.parameter_hash();
  for (const ParameterEntry& entry : trainer.layout().entries()) {
    const float* begin = trainer.weights() + entry.offset;
    ended.weights[entry.name].assign(begin, begin + entry.elements());
  }
  return ended;
}

class LanguageModel : public testing::TestWithParam<std::tuple<ModelConfig, DType>> {
 protected:
  static SmallRun run_of_case() {
    return token_run(std::get<0>(GetParam()), std::get<1>(GetParam()));
  }
};

TEST_P(LanguageModel, HasOneHashForAllDevices) {
  SmallRun run = run_of_case();
  uint64_t expected = train(run, 12).hash;
  for (std::vector<std::string> devices :
       {std::vector<std::string>{"cpu:0", "cpu:1"}, {"cpu:0", "cpu:1", "cpu:2", "cpu:3"}}) {
    run.devices = devices;
    EXPECT_EQ(train(run, 12).hash, expected) << devices.size() << " devices";
  }
}

// One step of plain SGD with rate 1 subtracts the gradient. Norms with one frozen parameter of two
// are among the cases.
TEST_P(LanguageModel, FrozenPartsLeaveTheGradientsOfTheRest) {
  SmallRun run = run_of_case();
  run.optimizer = {.name = OptimizerConfig::Name::sgd, .lr = 1, .momentum = 0};
  auto whole = train(run, 1).weights;
  const char* last = run.model.name == "gpt" ? "*.beta" : "head.*";
  for (const char* pattern : {"tokens.*", "block1.*", "*.gamma", last}) {
    run.freeze.patterns = {pattern};
    for (const auto& [name, values] : train(run, 1).weights)
      EXPECT_EQ(values == whole.at(name), !matches(pattern, name)) << name << ", " << pattern;
  }
}

TEST_P(LanguageModel, RecomputingItsBlocksChangesNoBit) {
  SmallRun run = run_of_case();
  uint64_t expected = train(run, 6).hash;
  run.recompute = true;
  EXPECT_EQ(train(run, 6).hash, expected);
}

INSTANTIATE_TEST_SUITE_P(Models, LanguageModel,
                         testing::Combine(testing::Values(small_gpt, small_llama),
                                          testing::Values(DType::f32, DType::bf16)),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + "_" +
                                  std::string(to_string(std::get<1>(test.param)));
                         });

// The loss begins at ln V, that of a uniform guess. A token's successor follows with probability
// 3/4, else any of the V: the loss ends near the entropy of that distribution.
TEST(LanguageModelLoss, NearsTheEntropyOfWhichTokenFollows) {
  double v = test_vocabulary, known = 0.75 + 0.25 / v, other = 0.25 / v;
  double entropy = -known * std::log(known) - (v - 1) * other * std::log(other);
  for (const ModelConfig& model : {small_gpt, small_llama}) {
    SmallRun run = token_run(model, DType::f32);
    run.model.dropout = run.loss.z_loss = 0;
    Ended ended = train(run, 100);
    EXPECT_NEAR(ended.first_loss, std::log(v), 0.05) << model.name;
    EXPECT_LT(ended.last_loss, entropy + 0.35 * (std::log(v) - entropy)) << model.name;
  }
}

}  // namespace
}  // namespace spire
