// Training on packed documents of JSONL shards ends with one hash: on 1, 2 and 3 devices, in two
// processes, and from the state of another count of devices within an epoch.
#include <fstream>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "engine/data/dataset.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr int64_t row_length = 16, step_count = 17;  // of an epoch of 13 steps

class PackedTraining : public testing::TestWithParam<ModelConfig> {
 protected:
  // Three shards with 8 documents each, of 5 to 60 letters.
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "spire-packed-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::string letters;
    for (int c = 0; c < 100; ++c) letters += static_cast<char>('a' + c * c % 11);
    for (size_t i = 0; i < 24; ++i) {
      std::ofstream file(folder_ / fmt::format("{}.jsonl", i / 8), std::ios::app);
      file << fmt::format("{{\"text\": \"{}\"}}\n", letters.substr(i, 5 + i * 23 % 56));
    }
    run_.model = GetParam();
    run_.optimizer = {.name = OptimizerConfig::Name::adamw, .lr = 0.01};
    run_.batch_size = 1;
    run_.towers = 4;
  }
  void TearDown() override { fs::remove_all(folder_); }

  DatasetPair data() const {
    DataConfig config;
    config.name = "tokens";
    config.tokens.text = {folder_.string()};
    config.tokens.vocabulary = TokensConfig::Vocabulary::characters;
    config.tokens.documents = documents_;
    config.tokens.length = row_length;
    return open_dataset(config, {.dtype = run_.precision, .seed = run_.seed});
  }

  // Runs steps [from, to) on `run`, from a state that a run was in after `from` steps.
  TrainingState train(const SmallRun& run, int64_t from, int64_t to,
                      const TrainingState* state = nullptr) const {
    TrainingState ended;
    TowerTrainerOptions options = run.options(*data().train);
    options.train_samples = data().train->count();
    on_ranks(run, options, [&](TowerTrainer& trainer) {
      if (state) restore(trainer, *state);
      run_steps(trainer, run, *data().train, from, to);
      TrainingState mine;
      trainer.team().lead([&] { take_state(trainer, mine); });
      if (trainer.placement().rank == 0) ended = mine;
    });
    return ended;
  }

  static bool same_weights(const TrainingState& a, const TrainingState& b) {
    return std::ranges::equal(a.weights, b.weights, [](const NamedTensor& x, const NamedTensor& y) {
      return x.name == y.name && x.values == y.values;
    });
  }

  fs::path folder_;
  SmallRun run_;
  TokensConfig::Documents documents_ = TokensConfig::Documents::packed;
};

TEST_P(PackedTraining, EndsWithOneHash) {
  TrainingState straight = train(run_, 0, step_count);
  ASSERT_FALSE(straight.weights.empty());
  SmallRun two = run_, three = run_, processes = run_;
  two.devices = {"cpu:0", "cpu:1"};
  three.devices = {"cpu:0", "cpu:1", "cpu:2"};
  processes.ranks = 2;
  for (const SmallRun& run : {two, three, processes})
    EXPECT_TRUE(same_weights(train(run, 0, step_count), straight))
        << run.devices.size() << " devices of " << run.ranks;
  TrainingState half = train(three, 0, 15);
  EXPECT_TRUE(same_weights(train(two, 15, step_count, &half), straight));
  // Borders count: windows of the same tokens train other weights.
  documents_ = TokensConfig::Documents::joined;
  EXPECT_FALSE(same_weights(train(run_, 0, step_count), straight));
}

// Samples of evaluations compute outputs from tokens alone: a row is one text.
TEST_P(PackedTraining, OutputsOfRowsNeedNoPositions) {
  DatasetPair pair = data();
  TowerTrainerOptions options = run_.options(*pair.train);
  options.sample_rows = 1;
  TowerTrainer trainer(options, run_.place());
  std::vector<int32_t> tokens(row_length, 1);
  std::vector<float> logits(static_cast<size_t>(row_length * options.classes));
  trainer.team().lead([&] {
    trainer.begin_evaluation();
    ForwardPass& pass = *trainer.sampler();
    pass.run(tokens.data());
    pass.copy_output(logits);
    trainer.end_evaluation();
  });
  EXPECT_NE(std::vector(logits.begin(), logits.begin() + options.classes),
            std::vector(logits.end() - options.classes, logits.end()));
}

INSTANTIATE_TEST_SUITE_P(
    Models, PackedTraining,
    testing::Values(
        ModelConfig{.name = "gpt", .dropout = 0.1, .blocks = 1, .width = 16, .heads = 2},
        ModelConfig{
            .name = "llama", .dropout = 0.1, .blocks = 1, .width = 16, .heads = 2, .kv_heads = 1}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
