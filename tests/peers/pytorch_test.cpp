// The first losses of MLP, CNN and ResNet-20 follow PyTorch's from the same weights and batches.
// pytorch_losses.json holds PyTorch's figures; record_losses.py beside it made them.
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/data/dataset.h"
#include "engine/train/tower_trainer.h"

namespace spire {
namespace {

// The formula of record_losses.py: murmur3's finaliser of element i of parameter k, in [0, 1).
double hashed_uniform(uint32_t k, uint32_t i) {
  uint32_t x = i + (k << 20);
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  x ^= x >> 16;
  return x / 4294967296.0;
}

void fill(const ParameterEntry& entry, std::span<float> values, uint32_t k) {
  if (!entry.trained()) {
    entry.initialize(RandomStream(0, Purpose::initialize), 0, values);
    return;
  }
  bool scale = entry.name.ends_with(".gamma"), weight = entry.shape.rank() > 1;
  double fan_in = static_cast<double>(entry.elements()) / static_cast<double>(entry.shape[0]);
  for (uint32_t i = 0; i < values.size(); ++i) {
    double value = weight ? (2 * hashed_uniform(k, i) - 1) / std::sqrt(fan_in) : scale ? 1.0 : 0.0;
    values[i] = static_cast<float>(value);
  }
}

// Position of each parameter in PyTorch's list: the order in which the model's own code defines
// them.
std::map<std::string, uint32_t> definition_order(const ModelConfig& model) {
  std::vector<Column> columns = {{"images", {28, 28, 1}}, {"labels", {}, DType::i32}};
  Graph graph = build_model(model, {}, {.columns = columns, .classes = 10, .batch = 2}, true);
  std::map<std::string, uint32_t> order;
  for (Value value : graph.values_of(Role::parameter)) {
    auto position = static_cast<uint32_t>(order.size());
    order[graph.tensor(value).name] = position;
  }
  return order;
}

struct LossPeer {
  std::string name;
  ModelConfig model;
  int64_t towers;
  double tolerance;  // relative
};

class FollowsPyTorch : public testing::TestWithParam<LossPeer> {};

TEST_P(FollowsPyTorch, FromTheSameWeightsAndBatches) {
  const LossPeer& peer = GetParam();
  DatasetPair data;
  try {
    data = open_dataset(DataConfig{}, {});
  } catch (const Error& error) {
    GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  }
  std::ifstream file(SPIRE_PEER_LOSSES);
  auto recorded = nlohmann::json::parse(file);
  auto losses = recorded["losses"][peer.name].get<std::vector<double>>();
  double lr = recorded["setup"]["optimizer"]["lr"][peer.name];

  RunConfig config;
  config.batch_size = 128 / peer.towers;
  config.towers = peer.towers;
  config.tower_threads = 1;
  config.devices = {"cpu:0"};
  config.model = peer.model;
  config.optimizer = {.name = OptimizerConfig::Name::sgd, .momentum = 0.9};
  TowerTrainerOptions options;
  options.config = config;
  options.train_columns = options.test_columns = data.train->spec().columns;
  options.classes = data.train->spec().classes;
  TowerTrainer trainer(options, place_towers(config, {local_hardware()}, 0));
  auto order = definition_order(peer.model);
  LoaderOptions loading{.batch_size = config.batch_size, .towers = peer.towers, .shuffle = false};
  BatchLoader loader(*data.train, loading);
  trainer.team().lead([&] {
    trainer.set_weights([&](const ParameterEntry& entry, std::span<float> values) {
      fill(entry, values, entry.trained() ? order.at(entry.name) : 0);
    });
    loader.start(0, 0, 1);
    for (size_t step = 0; step < losses.size(); ++step) {
      double loss = trainer.step(loader.next(), static_cast<int64_t>(step), lr).loss;
      ASSERT_NEAR(loss, losses[step], peer.tolerance * losses[step]) << "step " << step;
    }
    loader.stop();
  });
}

// ResNet-20 in one tower: PyTorch's batch norm looks at all 128 samples.
INSTANTIATE_TEST_SUITE_P(Models, FollowsPyTorch,
                         testing::Values(LossPeer{"mlp", {.name = "mlp"}, 2, 1e-4},
                                         LossPeer{"cnn", {.name = "cnn"}, 2, 1e-4},
                                         LossPeer{"resnet20", {.name = "resnet"}, 1, 1e-4}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
