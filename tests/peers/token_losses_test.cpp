// The first losses of a GPT-2 and a Llama follow those of Hugging Face's models in PyTorch from the
// same weights and rows. pytorch_token_losses.json holds their figures; record_token_losses.py
// beside it made them.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <spire/dataset.h>

#include "engine/data/loader.h"
#include "engine/train/tower_trainer.h"
#include "engine/weights/weight_match.h"
#include "tests/weights/made_tensors.h"

namespace spire {
namespace {

struct RecordedLosses {
  std::vector<double> losses;
  int64_t vocabulary, length, rows;
  double lr, momentum;
};

RecordedLosses recorded(const std::string& name) {
  std::ifstream file(SPIRE_PEER_TOKEN_LOSSES);
  auto all = nlohmann::json::parse(file);
  const auto& setup = all["setup"];
  return {all["losses"][name], setup["vocabulary"], setup["length"],
          setup["rows"],       setup["lr"],         setup["momentum"]};
}

// Tokens and targets of all rows, (samples, length) each.
struct Rows {
  std::vector<int32_t> tokens, targets;

  explicit Rows(const RecordedLosses& peer) {
    auto token = [&](int64_t i) {
      return static_cast<int32_t>((i * i + 3 * i + i / 7) % peer.vocabulary);
    };
    int64_t count = std::ssize(peer.losses) * peer.rows * peer.length;
    for (int64_t i = 0; i < count; ++i) {
      tokens.push_back(token(i));
      targets.push_back(token(i + 1));
    }
  }
  std::unique_ptr<Dataset> dataset(const RecordedLosses& peer) const {
    Shape shape = {std::ssize(tokens) / peer.length, peer.length};
    return array_dataset(
        {array("tokens", tokens.data(), shape), array("targets", targets.data(), shape)},
        {.classes = peer.vocabulary});
  }
};

class FollowsTransformers : public testing::TestWithParam<ModelConfig> {};

TEST_P(FollowsTransformers, FromTheSameWeightsAndRows) {
  const ModelConfig& model = GetParam();
  RecordedLosses peer = recorded(model.name);
  ASSERT_EQ(peer.losses.size(), 100u);
  Rows rows(peer);
  auto data = rows.dataset(peer);
  MadeModel made{model, token_columns(peer.length), peer.vocabulary};
  Graph graph = made.graph();
  WeightFile file("made up", foreign_tensors(name_table(WeightNames::huggingface, model, graph)));
  WeightMatch match(file, {.names = WeightNames::huggingface}, model, graph);

  RunConfig config;
  config.towers = 2;
  config.batch_size = peer.rows / 2;
  config.tower_threads = 1;
  config.devices = {"cpu:0"};
  config.model = model;
  config.optimizer = {.name = OptimizerConfig::Name::sgd, .momentum = peer.momentum};
  TowerTrainerOptions options;
  options.config = config;
  options.train_columns = options.test_columns = data->spec().columns;
  options.classes = peer.vocabulary;
  TowerTrainer trainer(options, place_towers(config, {local_hardware()}, 0));
  BatchLoader loader(*data, {.batch_size = config.batch_size, .towers = 2, .shuffle = false});
  trainer.team().lead([&] {
    trainer.set_weights([&](const ParameterEntry& entry, std::span<float> values) {
      ASSERT_TRUE(match.read(entry.name, values)) << entry.name;
    });
    loader.start(0, 0, 1);
    for (size_t step = 0; step < peer.losses.size(); ++step) {
      double loss = trainer.step(loader.next(), static_cast<int64_t>(step), peer.lr).loss;
      ASSERT_NEAR(loss, peer.losses[step], 1e-4 * peer.losses[step]) << "step " << step;
    }
    loader.stop();
  });
}

INSTANTIATE_TEST_SUITE_P(
    Models, FollowsTransformers,
    testing::Values(
        ModelConfig{.name = "gpt", .blocks = 2, .width = 64, .heads = 4},
        ModelConfig{
            .name = "llama", .blocks = 2, .width = 64, .heads = 4, .kv_heads = 2, .mlp_width = 96}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
