// Runs whose model, steps or memory the program chooses, tries or plans.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/small_data.h"

namespace spire {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

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

TEST(Plan, EstimatesAStepOnADescribedGpu) {
  SmallData data;
  auto words = data.run("run");
  words.insert(words.begin(), {"plan", "--gpu=h100"});
  Output output = trainer(words);
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("nothing was measured\n"));
  EXPECT_THAT(output.out, HasSubstr("step      all"));
  words[1] = "--gpu=h900";
  output = trainer(words);
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.last_error_line(), HasSubstr("must be one of: h100, a100, l4, rtx4090"));
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

}  // namespace
}  // namespace spire
