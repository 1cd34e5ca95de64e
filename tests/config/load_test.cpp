#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/config/schema.h"
#include "tests/base/message_of.h"
#include "tests/config/config_text.h"

namespace spire {
namespace {

TEST(LoadConfig, TheDefaultOptimizerSuitsTheData) {
  for (const char* data : {"data.name=csv", "data.name=tokens"}) {
    ResolvedConfig resolved = parse_config({}, {data});
    EXPECT_EQ(resolved.config.optimizer.name, OptimizerConfig::Name::adam);
    EXPECT_EQ(resolved.config.optimizer.lr, 0.001);
    EXPECT_EQ(parse_config({}, {data, "optimizer.momentum=0.8"}).config.optimizer.name,
              OptimizerConfig::Name::sgd);
    EXPECT_EQ(parse_config({}, {data, "optimizer.lr=0.1"}).config.optimizer.name,
              OptimizerConfig::Name::sgd);
  }
  for (const char* data : {"data.name=idx", "data.name=hdf5", "data.name=synthetic"})
    EXPECT_EQ(parse_config({}, {data}).config.optimizer.name, OptimizerConfig::Name::sgd);
}

// A rate that is given, in a file or on the command line, wins over the optimizer's default.
TEST(LoadConfig, TheDefaultLearningRateSuitsTheOptimizer) {
  for (auto [name, rate] :
       {std::pair{"sgd", 0.1}, {"adam", 0.001}, {"adamw", 0.001}, {"lamb", 0.01}, {"lars", 1.0}}) {
    std::string word = fmt::format("optimizer.name={}", name);
    ResolvedConfig resolved = parse_config({}, {word});
    EXPECT_EQ(resolved.config.optimizer.lr, rate) << name;
    EXPECT_EQ(resolved.source.at("optimizer.lr"),
              rate == 0.1 ? "default" : fmt::format("default for {}", name));
    EXPECT_EQ(parse_config({}, {word, "optimizer.lr=0.1"}).config.optimizer.lr, 0.1);
    EXPECT_EQ(parse_config({{"a.yaml", "optimizer: {lr: 0.3}\n"}}, {word}).config.optimizer.lr,
              0.3);
  }
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

// A quoted text is one word, commas and all.
TEST(LoadConfig, ListsNeedNoBrackets) {
  using Words = std::vector<std::string>;
  RunConfig config =
      parse_config({{"a.yaml", "eval: {metrics: auc}\ndevices: cuda:0, cuda:1\n"}},
                   {"eval.metrics=auc,f1_macro", "model.hidden=64,32", "data.mean=0.5",
                    "data.csv.ignore=\"a,b\"", "data.tokens.text=a.txt, b.txt"})
          .config;
  EXPECT_EQ(config.eval.metrics, (Words{"auc", "f1_macro"}));
  EXPECT_EQ(config.devices, (Words{"cuda:0", "cuda:1"}));
  EXPECT_EQ(config.model.hidden, (std::vector<int64_t>{64, 32}));
  EXPECT_EQ(config.data.mean, (std::vector<double>{0.5}));
  EXPECT_EQ(config.data.csv.ignore, (Words{"a,b"}));
  EXPECT_EQ(config.data.tokens.text, (Words{"a.txt", "b.txt"}));
  EXPECT_EQ(parse_config({}, {"model.hidden=64"}).config.model.hidden, (std::vector<int64_t>{64}));
  for (const char* list : {"\"a,b\",c", "'a,b',c", " 'a,b', \"c\"", "c,\"a,b\""})
    EXPECT_THAT(parse_config({}, {fmt::format("data.csv.ignore={}", list)}).config.data.csv.ignore,
                testing::UnorderedElementsAre("a,b", "c"))
        << list;
  for (const char* bad : {"data.csv.ignore=\"a,b", "model.hidden=64,x", "model.hidden=,64",
                          "eval.metrics=auc,x", "eval.metrics=auc,]", "optimizer.lr=1,5"})
    EXPECT_THROW(parse_config({}, {bad}), Error) << bad;
}

// On a command line a # begins no comment, and ? and * are words.
TEST(LoadConfig, ListsOfWordsMayHaveMarksOfYaml) {
  using Words = std::vector<std::string>;
  auto missing = [](const std::string& value) {
    return parse_config({}, {"data.csv.missing=" + value}).config.data.csv.missing;
  };
  EXPECT_EQ(missing("auto,#NV,k.A."), (Words{"auto", "#NV", "k.A."}));
  EXPECT_EQ(missing("auto, #NV"), (Words{"auto", "#NV"}));
  EXPECT_EQ(missing("#NV"), (Words{"#NV"}));
  EXPECT_EQ(missing("?"), (Words{"?"}));
  EXPECT_EQ(missing("NA,?,*,&x,%"), (Words{"NA", "?", "*", "&x", "%"}));
  EXPECT_EQ(missing("[auto, '#NV', \"a,b\"]"), (Words{"auto", "#NV", "a,b"}));
  EXPECT_EQ(parse_config({}, {"freeze=stem.*,head.*"}).config.freeze, (Words{"stem.*", "head.*"}));
  RunConfig file =
      parse_config({{"a.yaml", "data:\n  csv:\n    missing: auto,#NV,?,x\n"}}, {}).config;
  EXPECT_EQ(file.data.csv.missing, (Words{"auto", "#NV", "?", "x"}));
}

// The table names each key by its member; batch_norm alone is the member of another section.
TEST(LoadConfig, ReadsEveryType) {
  RunConfig config = parse(R"(
model: {name: mlp, hidden: [512, 256]}
batch_norm: sync
data:
  path: "/data/with space: 1"
  mean: [0.5, 1e-1]
  augment: {crop: 2, flip: true}
  csv: {header: true, task: value}
  tokens: {text: one.txt}
ema: {decay: 0.999, warmup: true}
schedule: {milestone_steps: [100, 200]}
batch_size: 64
towers: 4
devices: [cuda:0, cuda:2]
optimizer: {lr: 5.0e-4, momentum: .9, weight_decay: +1E-4, beta1: 0}
seed: 18446744073709551615
)")
                         .config;
  EXPECT_EQ(config.model.name, "mlp");
  EXPECT_EQ(config.model.hidden, (std::vector<int64_t>{512, 256}));
  EXPECT_EQ(config.model.batch_norm, ModelConfig::BatchNorm::sync);
  EXPECT_EQ(config.data.path, "/data/with space: 1");
  EXPECT_EQ(config.data.mean, (std::vector<double>{0.5, 0.1}));
  EXPECT_EQ(config.data.augment.crop, 2);
  EXPECT_TRUE(config.data.augment.flip);
  EXPECT_EQ(config.data.csv.header, CsvConfig::Header::yes);
  EXPECT_EQ(config.data.csv.task, TargetKind::values);
  EXPECT_EQ(config.data.tokens.text, std::vector<std::string>{"one.txt"});
  EXPECT_EQ(config.ema.decay, 0.999);
  EXPECT_TRUE(config.ema.warmup);
  EXPECT_EQ(config.schedule.milestone_steps, (std::vector<int64_t>{100, 200}));
  EXPECT_EQ(config.batch_size, 64);
  EXPECT_EQ(config.towers, 4);
  EXPECT_EQ(config.devices, (std::vector<std::string>{"cuda:0", "cuda:2"}));
  EXPECT_EQ(config.optimizer.lr, 5.0e-4);
  EXPECT_EQ(config.optimizer.momentum, 0.9);
  EXPECT_EQ(config.optimizer.weight_decay, 1e-4);
  EXPECT_EQ(config.optimizer.beta1, 0.0);
  EXPECT_EQ(config.seed, UINT64_MAX);
}

TEST(LoadConfig, SecondsMayBeWrittenAsDurations) {
  auto seconds = [](const std::string& text) {
    return parse_config({}, {"max_time=" + text}).config.max_time;
  };
  EXPECT_EQ(seconds("8h"), 28800);
  EXPECT_EQ(seconds("90"), 90);
  EXPECT_EQ(seconds("90s"), 90);
  EXPECT_EQ(seconds("1.5m"), 90);
  EXPECT_EQ(seconds("2d1h30m5s"), 2 * 86400 + 3600 + 1800 + 5);
  EXPECT_EQ(seconds("1s500ms"), 1.5);
  EXPECT_EQ(parse_config({}, {"timeouts.step=10m"}).config.timeouts.step, 600);
  for (const char* wrong : {"h", "8x", "1h1h", "1m1h", "1h30", "-1h", "1e3h", ".h"})
    EXPECT_THROW(seconds(wrong), Error) << wrong;
}

TEST(LoadConfig, LaterFilesAndTheCommandLineWinKeyByKey) {
  ResolvedConfig resolved =
      parse_config({{"base.yaml", "model: {name: cnn, channels: [8, 8]}\nepochs: 3\nseed: 1\n"},
                    {"more.yaml", "model:\n  channels: [16]\nseed: 2\n"}},
                   {"seed=3", "optimizer={name: adam, lr: 0.001}", "devices=2xcpu"});
  EXPECT_EQ(resolved.config.model.name, "cnn");
  EXPECT_EQ(resolved.config.model.channels, std::vector<int64_t>{16});
  EXPECT_EQ(resolved.config.epochs, 3);
  EXPECT_EQ(resolved.config.seed, 3u);
  EXPECT_EQ(resolved.config.optimizer.name, OptimizerConfig::Name::adam);
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

// A shell has taken its quotes away: what is left is the name of a file, not YAML.
TEST(LoadConfig, AWordOnTheCommandLineCountsAsItStands) {
  for (const std::string word :
       {"exp #2", "#2", " lead", "trail ", "a\nb", "t: 2.csv", "[1] a",    "{a}",
        "a, b",   "&a", "*a",    "!a",     "- a",  "a'b",      "a: \"b\"", "---",
        "%a",     "@a", "? a",   "| a",    "> a",  "a\\nb"}) {
    EXPECT_EQ(parse_config({}, {"output=" + word}).config.output, word);
    EXPECT_EQ(parse_config({}, {"data.path=" + word}).config.data.path, word);
  }
  EXPECT_EQ(parse_config({}, {"output='it''s #1'"}).config.output, "it's #1");
  EXPECT_EQ(parse_config({}, {"output=\"a\\\" #1\""}).config.output, "a\" #1");
  for (const std::string none : {"", " ", "~", "null", "Null"})
    EXPECT_EQ(message_of("", {"output=" + none}), message_of("", {"output="})) << none;
}

TEST(LoadConfig, ACommentOnTheCommandLineIsRefused) {
  EXPECT_EQ(message_of("", {"optimizer.name=sgd # or adam"}),
            "command line: optimizer.name: a # begins a comment, so that '# or adam' would be left "
            "out; quote the value (optimizer.name='\"...\"'), or leave it out yourself");
  for (const char* word : {"seed=3 #4", "output='a' #4", "model.hidden=[3, 4] # widths",
                           "optimizer={name: \"adam\"} #", "data.path=\"a\\\"\" # b"})
    EXPECT_NE(message_of("", {word}).find("a # begins a comment"), std::string::npos) << word;
  EXPECT_EQ(parse_config({}, {"optimizer.lr_factors={\"a #1\": 2, 'b''s #': 1, c#: 1}"})
                .config.optimizer.lr_factors.size(),
            3U);
}

TEST(LoadConfig, NullRestoresTheDefault) {
  ResolvedConfig resolved = parse("towers: 4\nsteps: 7\n", {"towers=null", "steps=~"});
  EXPECT_FALSE(resolved.config.towers.has_value());
  EXPECT_FALSE(resolved.config.steps.has_value());
  EXPECT_EQ(resolved.source.at("towers"), "default");
}

TEST(LoadConfig, BatchSizeFollowsFromGlobalBatchAndTowers) {
  ResolvedConfig resolved = parse("global_batch: 96\ntowers: 3\n");
  EXPECT_EQ(resolved.config.batch_size, 32);
  EXPECT_EQ(resolved.source.at("batch_size"), "global_batch / towers");
  EXPECT_EQ(parse("global_batch: 128\ntowers: 3\n").config.batch_size, 43);
}

TEST(LoadConfig, TowersFollowFromBothBatches) {
  ResolvedConfig resolved = parse("batch_size: 32\n", {"global_batch=256"});
  EXPECT_EQ(resolved.config.towers, 8);
  EXPECT_EQ(resolved.source.at("towers"), "global_batch / batch_size");
  EXPECT_EQ(parse("batch_size: 43\nglobal_batch: 128\n").config.towers, 3);
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

// A command that failed leaves such a file where its output was to go.
TEST(LoadConfig, EmptyFilesAreRefused) {
  std::string path = testing::TempDir() + "spire_empty_test.yaml";
  for (const char* text : {"", "\n", "# seed: 1\n\n   # more\n", "---\n"}) {
    std::ofstream(path) << text;
    EXPECT_THAT(message_of(Category::config, [&] { load_config({path}, {"seed=1"}); }),
                testing::HasSubstr("spire_empty_test.yaml: is empty; write the keys"))
        << text;
  }
  std::filesystem::remove(path);
}

TEST(LoadConfig, TheProjectsConfigsAreValid) {
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
