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
    Output output = expect_success(trainer(data.run("run", {"--dry-run", steps, "batch_size=16"})));
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
  struct Case {
    Words words;
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
    Words all = Words{"devices=cpu",
                      "tower_threads=1",
                      "batch_size=16",
                      "output=" + (folder / "run"),
                      "data.name=synthetic",
                      "data.synthetic.samples=64",
                      "data.synthetic.test_samples=16"} +
                words;
    Output check = expect_success(trainer(all + Words{"--check"}));
    EXPECT_THAT(check.out, HasSubstr("task: " + task + ", with " + model + "\n"));
    Output output = expect_success(trainer(all + Words{"--dry-run", "1"}));
    expect_parts(output.err, {"model         " + model + " (auto: the data has ",
                              "task          " + task + "\n"});
    if (words.back() == csv) {
      EXPECT_THAT(check.err, HasSubstr("the column 'id' numbers the rows and is left out"));
    }
  }
}

TEST(Train, WarnsOfKeysOfOtherModelsThanTheChosenOne) {
  WorkFolder folder;
  Output given = expect_success(trainer(
      {"--check", "data.name=synthetic", "data.synthetic.kind=features", "data.synthetic.shape=[8]",
       "model.depth=32", "devices=cpu", "output=" + (folder / "run")}));
  EXPECT_THAT(given.err, HasSubstr("model.depth is not used with model.name: mlp"));
}

TEST(Plan, EstimatesAStepOnADescribedGpu) {
  SmallData data;
  Output output = expect_success(trainer(Words{"plan", "--gpu=h100"} + data.run("run")));
  expect_parts(output.out, {"nothing was measured\n", "step      all"});
  expect_error(2, trainer(Words{"plan", "--gpu=h900"} + data.run("run")),
               "must be one of: h100, a100, l4, rtx4090");
}

TEST(Plan, ReportsWhetherItFitsTheLimit) {
  SmallData data;
  auto plan = [&](const char* limit) {
    return trainer(Words{"plan"} + data.run("run", {std::string("memory.limit=") + limit}));
  };
  EXPECT_THAT(expect_success(plan("1GiB")).out, ContainsRegex(" 1.0 GiB .* yes\n"));
  Output none = expect_error(6, plan("10KiB"), "error[6]: cpu:0: ");
  EXPECT_THAT(none.out, ContainsRegex(" 10.0 KiB .* no\n"));
  EXPECT_THAT(none.err, HasSubstr("planned"));
}

TEST(Plan, ShowsWhatRecomputationSaves) {
  SmallData data;
  Output output = expect_success(
      trainer(Words{"plan"} + data.run("run", {"model.name=resnet", "memory.recompute=blocks"})));
  expect_parts(line_value(output.out, "recompute"), {"of activations per tower", "without"});
}

}  // namespace
}  // namespace spire
