// Whole runs through the program: files, streams, exit codes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/small_data.h"

namespace spire {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;
namespace fs = std::filesystem;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void expect_error(const Output& output, int code, const std::string& fragment) {
  EXPECT_EQ(output.code, code) << output.err;
  EXPECT_THAT(output.last_error_line(), StartsWith("error[" + std::to_string(code) + "]: "));
  EXPECT_THAT(output.last_error_line(), HasSubstr(fragment));
}

TEST(Train, ResultsOnStdoutProgressOnStderrFilesInTheRunDirectory) {
  SmallData data;
  Output output = trainer(data.run("run"));
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(parameter_hash(output), MatchesRegex("[0-9a-f]{16}"));
  EXPECT_THAT(output.out, testing::EndsWith(parameter_hash(output) + "\n"));
  EXPECT_THAT(output.err, HasSubstr("global batch"));
  EXPECT_THAT(output.err, HasSubstr("step 12/12"));
  EXPECT_EQ(output.err.find('\x1b'), std::string::npos);
  EXPECT_EQ(output.out.find("step 12/12"), std::string::npos);
  for (const char* name : {"config.yaml", "metrics.jsonl", "summary.json", "checkpoints"}) {
    EXPECT_TRUE(fs::exists(data.output("run") + "/" + name)) << name;
  }
}

TEST(Train, SummaryHoldsWhatStdoutSays) {
  SmallData data;
  Output output = trainer(data.run("run"));
  ASSERT_EQ(output.code, 0) << output.err;
  auto summary = nlohmann::json::parse(read_file(data.output("run") + "/summary.json"));
  EXPECT_EQ(summary["parameter_hash"], parameter_hash(output));
  EXPECT_EQ(summary["steps"], 12);
  EXPECT_EQ(summary["exit"], 0);
  for (const char* key : {"epochs", "train_loss", "val", "samples_per_s", "devices", "towers",
                          "seconds", "peak_memory_bytes"}) {
    EXPECT_TRUE(summary.contains(key)) << key;
  }
}

TEST(Train, TheEchoedConfigRepeatsTheRun) {
  SmallData data;
  Output first = trainer(data.run("first"));
  ASSERT_EQ(first.code, 0) << first.err;
  Output again = trainer(
      {"--config", data.output("first") + "/config.yaml", "--output", data.output("again")});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(parameter_hash(again), parameter_hash(first));
  Output other = trainer(data.run("other", {"--seed", "8"}));
  EXPECT_NE(parameter_hash(other), parameter_hash(first));
}

TEST(Train, TowersOnOneDeviceOrTwoEndWithTheSameHash) {
  SmallData data;
  Output one = trainer(data.run("one", {"towers=4", "devices=1xcpu"}));
  Output two = trainer(data.run("two", {"towers=4", "devices=2xcpu"}));
  ASSERT_EQ(one.code, 0) << one.err;
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(parameter_hash(one), parameter_hash(two));
}

TEST(Train, ANonEmptyRunDirectoryIsRefusedUnlessOverwritten) {
  SmallData data;
  ASSERT_EQ(trainer(data.run("run")).code, 0);
  Output refused = trainer(data.run("run"));
  expect_error(refused, 2, data.output("run"));
  EXPECT_THAT(refused.err, HasSubstr("--overwrite"));
  EXPECT_EQ(trainer(data.run("run", {"--overwrite"})).code, 0);
}

TEST(Train, QuietLeavesResultsOnly) {
  SmallData data;
  Output output = trainer(data.run("run", {"--quiet"}));
  EXPECT_EQ(output.code, 0);
  EXPECT_EQ(output.err, "");
  EXPECT_FALSE(parameter_hash(output).empty());
}

TEST(Train, WarnsOfKeysThatMeanNothing) {
  SmallData data;
  Output output = trainer(data.run("run", {"optimizer.name=sgd", "optimizer.beta1=0.5"}));
  EXPECT_EQ(output.code, 0);
  EXPECT_THAT(output.err, HasSubstr("warning: command line: optimizer.beta1 is not used with"));
}

TEST(Train, ADryRunWritesNothing) {
  SmallData data;
  Output output = trainer(data.run("run", {"--dry_run", "3"}));
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("step 3/3"));
  EXPECT_FALSE(fs::exists(data.output("run")));
}

// 50 samples to test on, in batches of 16.
TEST(Train, ADryRunEvaluatesAsManyBatchesAsItTrainsOn) {
  SmallData data;
  for (auto [steps, samples] : {std::pair{"1", 16}, {"2", 32}, {"3", 48}, {"4", 50}, {"9", 50}}) {
    Output output = trainer(data.run("run", {"--dry-run", steps, "batch_size=16"}));
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.err,
                ContainsRegex(fmt::format("eval step {} .* {} samples", steps, samples)));
    EXPECT_EQ(samples < 50, output.err.find("a dry run evaluates") != std::string::npos);
  }
}

// The config has no model.name.
TEST(Train, TheModelSuitsTheData) {
  WorkFolder folder;
  std::string table = "id,x,y,kind\n";
  for (int i = 0; i < 60; ++i)
    table += fmt::format("{},{}.5,{}.25,{}\n", i, i % 7, i % 5, i % 3 ? "rose" : "iris");
  std::string csv = "data.path=" + folder.write("t.csv", table);
  const std::vector<std::string> synthetic = {"data.name=synthetic", "data.synthetic.samples=64",
                                              "data.synthetic.test_samples=16"};
  struct Case {
    std::vector<std::string> words;
    std::string model, task;
  };
  for (const auto& [words, model, task] :
       {Case{{"data.name=csv", csv}, "mlp", "classify 2 features into 2 classes: 'iris', 'rose'"},
        Case{{"data.name=csv", csv, "data.csv.target=x", "data.csv.task=value",
              "data.csv.ignore=[id,kind]"},
             "mlp",
             "predict 1 value from 1 feature"},
        Case{{"data.synthetic.kind=images", "data.synthetic.shape=[8,8,3]"},
             "cnn",
             "classify images into 10 classes"},
        Case{{"data.synthetic.kind=features", "data.synthetic.shape=[8]"},
             "mlp",
             "classify 8 features into 10 classes"},
        Case{{"data.synthetic.kind=tokens", "data.synthetic.shape=[8]"},
             "gpt",
             "predict the next token, one of 10, from up to 8"}}) {
    std::vector<std::string> all = {"devices=cpu", "tower_threads=1", "batch_size=16",
                                    "output=" + (folder / "run")};
    if (!words[0].starts_with("data.name"))
      all.insert(all.end(), synthetic.begin(), synthetic.end());
    all.insert(all.end(), words.begin(), words.end());
    auto checked = all, run = all;
    checked.push_back("--check");
    Output check = trainer(checked);
    EXPECT_EQ(check.code, 0) << check.err;
    EXPECT_THAT(check.out, HasSubstr("task: " + task + ", with " + model + "\n"));
    run.insert(run.end(), {"--dry-run", "1"});
    Output output = trainer(run);
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.err, HasSubstr("model         " + model + " (auto: the data has "));
    EXPECT_THAT(output.err, HasSubstr("task          " + task + "\n"));
    if (words[1] == csv && words.size() == 2) {
      EXPECT_THAT(check.err, HasSubstr("the column 'id' numbers the rows and is left out"));
    }
  }
}

TEST(Train, WarnsOfKeysOfOtherModelsThanTheChosenOne) {
  WorkFolder folder;
  Output given = trainer({"--check", "data.name=synthetic", "data.synthetic.kind=features",
                          "data.synthetic.shape=[8]", "model.depth=32", "devices=cpu",
                          "output=" + (folder / "run")});
  EXPECT_EQ(given.code, 0) << given.err;  // a key of another model than the one that was chosen
  EXPECT_THAT(given.err, HasSubstr("model.depth is not used with model.name: mlp"));
}

TEST(Train, CheckValidatesWithoutTraining) {
  SmallData data;
  Output output = trainer(data.run("run", {"--check"}));
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out,
            "config, data and devices are good (samples were not read; --deep reads them)\n"
            "task: classify images into 4 classes, with mlp\n");
  EXPECT_FALSE(fs::exists(data.output("run")));
  expect_error(trainer(data.run("run", {"--check", "data.path=/nonexistent"})), 4, "/nonexistent");
  expect_error(trainer(data.run("run", {"--check", "devices=cuda:99"})), 3, "cuda:99");
}

TEST(Plan, PrintsMemoryByKindWithoutARun) {
  SmallData data;
  std::vector<std::string> words = data.run("run");
  words.insert(words.begin(), "plan");
  Output output = trainer(words);
  EXPECT_EQ(output.code, 0) << output.err;
  for (const char* kind : {"weights", "gradients", "optimizer", "activations", "workspace"}) {
    EXPECT_THAT(output.out, HasSubstr(kind));
  }
  EXPECT_FALSE(fs::exists(data.output("run")));
}

TEST(Plan, EstimatesAStepOnADescribedGpu) {
  SmallData data;
  auto words = data.run("run");
  words.insert(words.begin(), {"plan", "--gpu=h100"});
  Output output = trainer(words);
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("nothing was measured\n"));
  EXPECT_THAT(output.out, HasSubstr("step      all"));
  words[1] = "--gpu=h900";
  expect_error(trainer(words), 2, "must be one of: h100, a100, l4, rtx4090");
}

TEST(Plan, ReportsWhetherItFitsTheLimit) {
  SmallData data;
  auto words = data.run("run", {"memory.limit=1GiB"});
  words.insert(words.begin(), "plan");
  Output output = trainer(words);
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, ContainsRegex(" 1.0 GiB .* yes\n"));
  words.back() = "memory.limit=10KiB";
  output = trainer(words);
  EXPECT_EQ(output.code, 6);
  EXPECT_THAT(output.out, ContainsRegex(" 10.0 KiB .* no\n"));
  EXPECT_THAT(output.err, HasSubstr("planned"));
  EXPECT_THAT(output.last_error_line(), HasSubstr("error[6]: cpu:0: "));
}

TEST(Plan, ShowsWhatRecomputationSaves) {
  SmallData data;
  auto words = data.run("run", {"model.name=resnet", "memory.recompute=blocks"});
  words.insert(words.begin(), "plan");
  Output output = trainer(words);
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(line_value(output.out, "recompute"), HasSubstr("of activations per tower"));
  EXPECT_THAT(line_value(output.out, "recompute"), HasSubstr("without"));
}

TEST(ExitCode, FourForData) {
  SmallData data;
  expect_error(trainer(data.run("run", {"data.path=/nonexistent"})), 4, "/nonexistent");
  fs::resize_file(data.folder / "train-images-idx3-ubyte", 1000);
  expect_error(trainer(data.run("run")), 4, "train-images-idx3-ubyte");
  EXPECT_FALSE(fs::exists(data.output("run")));
}

TEST(ExitCode, ThreeForDevices) {
  SmallData data;
  expect_error(trainer(data.run("run", {"devices=cuda:99"})), 3, "cuda:99");
  expect_error(trainer(data.run("run", {"precision=fp16"})), 3, "fp16");
}

TEST(ExitCode, SevenForADivergedRun) {
  SmallData data;
  Output output = trainer(data.run("run", {"optimizer.lr=1e30"}));
  expect_error(output, 7, "loss");
  auto summary = nlohmann::json::parse(read_file(data.output("run") + "/summary.json"));
  EXPECT_EQ(summary["exit"], 7);
}

}  // namespace
}  // namespace spire
