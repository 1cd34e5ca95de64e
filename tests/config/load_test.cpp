#include <gtest/gtest.h>
#include <spire/config/load.h>
#include <spire/config/schema.h>

#include <filesystem>
#include <fstream>

namespace spire {
namespace {

ResolvedConfig parse(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  return parse_config({{"run.yaml", yaml}}, overrides);
}

TEST(LoadConfig, EmptyTextsGiveTheDefaults) {
  for (const std::string text : {"", "\n", "# only a comment\n", "---\n", "null\n", "{}\n"}) {
    ResolvedConfig resolved = parse(text);
    EXPECT_EQ(resolved.config.optimizer.lr, OptimizerConfig().lr);
    EXPECT_EQ(resolved.config.model.name, ModelConfig().name);
    EXPECT_EQ(resolved.config.devices, RunConfig().devices);
    for (const Field& field : schema()) EXPECT_EQ(resolved.source.at(field.path), "default");
  }
}

TEST(LoadConfig, ReadsEveryType) {
  RunConfig config = parse(R"(
model: {name: mlp, hidden: [512, 256]}
data: {path: "/data/with space: 1", augment: {crop: 2, flip: true}}
batch_size: 64
towers: 4
devices: [cuda:0, cuda:2]
optimizer: {lr: 5.0e-4, momentum: .9, weight_decay: +1E-4, beta1: 0}
seed: 18446744073709551615
)")
                         .config;
  EXPECT_EQ(config.model.name, "mlp");
  EXPECT_EQ(config.model.hidden, (std::vector<int64_t>{512, 256}));
  EXPECT_EQ(config.data.path, "/data/with space: 1");
  EXPECT_EQ(config.data.augment.crop, 2);
  EXPECT_TRUE(config.data.augment.flip);
  EXPECT_EQ(config.batch_size, 64);
  EXPECT_EQ(config.towers, 4);
  EXPECT_EQ(config.devices, (std::vector<std::string>{"cuda:0", "cuda:2"}));
  EXPECT_EQ(config.optimizer.lr, 5.0e-4);
  EXPECT_EQ(config.optimizer.momentum, 0.9);
  EXPECT_EQ(config.optimizer.weight_decay, 1e-4);
  EXPECT_EQ(config.optimizer.beta1, 0.0);
  EXPECT_EQ(config.seed, UINT64_MAX);
}

TEST(LoadConfig, LaterFilesAndTheCommandLineWinKeyByKey) {
  ResolvedConfig resolved =
      parse_config({{"base.yaml", "model: {name: cnn, channels: [8, 8]}\nepochs: 3\nseed: 1\n"},
                    {"more.yaml", "model:\n  channels: [16]\nseed: 2\n"}},
                   {"seed=3", "optimizer={name: adam, lr: 0.001}", "devices=cpu:2"});
  EXPECT_EQ(resolved.config.model.name, "cnn");
  EXPECT_EQ(resolved.config.model.channels, std::vector<int64_t>{16});
  EXPECT_EQ(resolved.config.epochs, 3);
  EXPECT_EQ(resolved.config.seed, 3u);
  EXPECT_EQ(resolved.config.optimizer.name, "adam");
  EXPECT_EQ(resolved.config.devices, (std::vector<std::string>{"cpu:0", "cpu:1"}));
}

TEST(LoadConfig, RemembersWhereEachValueCameFrom) {
  ResolvedConfig resolved =
      parse_config({{"base.yaml", "epochs: 3\nmodel: {name: cnn, depth: 20}\n"},
                    {"b.yaml", "model:\n  name: mlp\n"}},
                   {"optimizer.lr=0.5"});
  EXPECT_EQ(resolved.source.at("epochs"), "base.yaml:1:1");
  EXPECT_EQ(resolved.source.at("model.depth"), "base.yaml:2:20");
  EXPECT_EQ(resolved.source.at("model.name"), "b.yaml:2:3");
  EXPECT_EQ(resolved.source.at("optimizer.lr"), "command line");
  EXPECT_EQ(resolved.source.at("optimizer.momentum"), "default");
  EXPECT_EQ(resolved.source.size(), schema().size());
}

TEST(LoadConfig, AliasesAreFollowed) {
  RunConfig config = parse("epochs: &n 4\nsteps: *n\nlog: {every_steps: *n}\n").config;
  EXPECT_EQ(config.steps, 4);
  EXPECT_EQ(config.log.every_steps, 4);
}

TEST(LoadConfig, ASectionOfCommentsIsNoError) {
  EXPECT_EQ(parse("optimizer:\n  # lr: 0.1\nseed: 5\n").config.seed, 5u);
}

TEST(LoadConfig, NullTakesAValueBack) {
  ResolvedConfig resolved = parse("towers: 4\nsteps: 7\n", {"towers=null", "steps=~"});
  EXPECT_FALSE(resolved.config.towers.has_value());
  EXPECT_FALSE(resolved.config.steps.has_value());
  EXPECT_EQ(resolved.source.at("towers"), "default");
}

TEST(LoadConfig, BatchSizeFollowsFromGlobalBatchAndTowers) {
  ResolvedConfig resolved = parse("global_batch: 96\ntowers: 3\n");
  EXPECT_EQ(resolved.config.batch_size, 32);
  EXPECT_EQ(resolved.source.at("batch_size"), "global_batch / towers");
}

TEST(LoadConfig, TowersFollowFromBothBatches) {
  ResolvedConfig resolved = parse("batch_size: 32\n", {"global_batch=256"});
  EXPECT_EQ(resolved.config.towers, 8);
  EXPECT_EQ(resolved.source.at("towers"), "global_batch / batch_size");
  EXPECT_FALSE(parse("batch_size: 32\nglobal_batch: 256\n", {"batch_size=null"}).config.towers);
}

TEST(LoadConfig, ReadsFiles) {
  std::string path = testing::TempDir() + "spire_load_test.yaml";
  std::ofstream(path) << "\xEF\xBB\xBFseed: 11\r\nepochs: 2\r\n";
  ResolvedConfig resolved = load_config({path}, {});
  EXPECT_EQ(resolved.config.seed, 11u);
  EXPECT_EQ(resolved.config.epochs, 2);
  EXPECT_EQ(resolved.source.at("epochs"), path + ":2:1");
  std::filesystem::remove(path);
}

TEST(LoadConfig, TheConfigsOfTheProjectAreGood) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CONFIGS_FOLDER)) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_NO_THROW(load_config({entry.path().string()}, {})) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 3);
}

}  // namespace
}  // namespace spire
