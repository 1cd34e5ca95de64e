// Configs given to the program: what it prints of them, and errors of invalid ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/set_variable.h"
#include "tests/tools/program.h"

namespace spire {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

TEST(PrintConfig, ShowsValuesAndTheirSources) {
  WorkFolder folder;
  std::string base = folder.write("base.yaml", "seed: 1\noptimizer:\n  lr: 0.5\n  momentum: 0.5\n");
  std::string more = folder.write("more.yaml", "optimizer: {lr: 0.25}\n");
  Output output =
      trainer({"--config", base, "-c", more, "epochs=3", "--set", "seed=2", "--print-config"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.err, "");
  EXPECT_THAT(output.out, ContainsRegex("\n  lr: 0.25 +# .*more.yaml:1:13\n"));
  EXPECT_THAT(output.out, ContainsRegex("\n  momentum: 0.5 +# .*base.yaml:4:3\n"));
  EXPECT_THAT(output.out, ContainsRegex("\nepochs: 3 +# command line\n"));
  EXPECT_THAT(output.out, ContainsRegex("\nseed: 2 +# command line\n"));
  EXPECT_THAT(output.out, ContainsRegex("\nprecision: fp32 +# default\n"));
}

TEST(PrintConfig, TheEnvironmentSetsDevicesBehindFilesAndBeforeTheCommandLine) {
  WorkFolder folder;
  std::string file = folder.write("run.yaml", "devices: cuda\n");
  {
    SetVariable devices("SPIRE_DEVICES", "0,GPU-1b2c");
    Output output = trainer({"--config", file, "--print-config"});
    EXPECT_THAT(output.out, ContainsRegex("\ndevices: .cuda:0, GPU-1b2c. +# SPIRE_DEVICES\n"));
    output = trainer({"--config", file, "--print-config", "devices=cpu"});
    EXPECT_THAT(output.out, ContainsRegex("\ndevices: .?cpu:0.? +# command line\n"));
  }
  {
    SetVariable devices("SPIRE_DEVICES", "[cpu:0, cpu:1]");
    EXPECT_THAT(trainer({"--print-config"}).out, HasSubstr("\ndevices: [cpu:0, cpu:1] "));
  }
  {
    SetVariable devices("SPIRE_DEVICES", "gpu");
    expect_error(2, trainer({"--config", file, "--print-config"}),
                 "SPIRE_DEVICES: devices: 'gpu' is not a device");
  }
  SetVariable empty("SPIRE_DEVICES", "");
  EXPECT_THAT(trainer({"--config", file, "--print-config"}).out, HasSubstr("\ndevices: cuda "));
}

TEST(PrintConfig, WarnsOfKeysThatMeanNothing) {
  Output output =
      expect_success(trainer({"--print-config", "optimizer.name=sgd", "optimizer.beta1=0.5"}));
  EXPECT_EQ(output.err,
            "warning: command line: optimizer.beta1 is not used with optimizer.name: sgd, only "
            "with adam, adamw, lamb\n");
}

TEST(PrintConfig, IsAConfigItself) {
  WorkFolder folder;
  Output first =
      expect_success(trainer({"--print-config", "devices=2xcpu", "towers=4", "output=a: b"}));
  Output second = expect_success(
      trainer({"--config", folder.write("printed.yaml", first.out), "--print-config"}));
  expect_parts(second.out, {"\noutput: \"a: b\" ", "\ndevices: [cpu:0, cpu:1] "});
}

TEST(PrintConfig, OptionsTakeDashesAndUnderscores) {
  EXPECT_EQ(trainer({"--print_config", "--dry_run=3", "--log_level", "error"}).code, 0);
  Output output = trainer({"--print-config", "--output=my_runs/a_b", "--seed", "5"});
  expect_parts(output.out, {"\noutput: my_runs/a_b ", "\nseed: 5 "});
}

TEST(HelpConfig, ListsKeysOnStdout) {
  Output output = expect_success(trainer({"--help-config"}));
  EXPECT_EQ(output.err, "");
  expect_parts(output.out,
               {"\nmodel.name: ", "\ndata.augment.crop: ", "\noptimizer.lr: ", "\noutput: "});
}

TEST(InvalidConfig, EveryProblemIsALineAndTheLastLineIsTheError) {
  WorkFolder folder;
  std::string path = folder.write("run.yaml", "optimizer:\n  lrr: 0.1\nepochs: -1\n");
  for (const char* command : {"train", "eval", "plan"}) {
    Output output = expect_error(2, trainer({command, "--config", path, "precision=int8"}),
                                 "error[2]: 3 problems, listed above; the first: " + path);
    EXPECT_EQ(output.out, "");
    expect_parts(output.err,
                 {path + ":2:3: optimizer.lrr: unknown key; did you mean 'optimizer.lr'?\n",
                  path + ":3:9: epochs: -1 is out of range",
                  "command line: precision: unknown value 'int8'"});
  }
}

// Only the engine finds these, as it needs the data or the devices for them.
TEST(InvalidConfig, ErrorsOfTheEngineHaveTheirPlace) {
  WorkFolder folder;
  const std::string data = "data: {name: synthetic, synthetic: {samples: 8, test_samples: 8}}\n";
  struct Bad {
    std::string text, says;
  };
  for (const Bad& bad :
       {Bad{"model:\n  layers:\n    - flatten\n    - attention: {heads: 8}\n",
            ":5:7: model.layers[1].attention: takes tokens (N, T, C)"},
        Bad{"model: {layers: [relu, {residual: {layers: [flatten, max_pool2d]}}]}\n",
            ":2:54: model.layers[1].residual.layers[1].max_pool2d: takes images"},
        Bad{"batch_size: 9\ndata: {last_batch: drop}\n",
            ":3:8: data.last_batch: drop leaves no batch"}}) {
    std::string base = folder.write("data.yaml", data);
    std::string path = folder.write("run.yaml", "seed: 1\n" + bad.text);
    for (const Words& words :
         {Words{"train", "--dry-run", "1"}, Words{"train", "--check"}, Words{"plan"}})
      expect_error(2, trainer(words + Words{"--config", base, "--config", path}),
                   "error[2]: " + path + bad.says);
  }
}

TEST(InvalidConfig, OneProblemIsTheLastLineItself) {
  Output output = trainer({"--config", "/nonexistent/run.yaml"});
  EXPECT_EQ(output.code, 2);
  EXPECT_EQ(output.err,
            "error[2]: /nonexistent/run.yaml: cannot be read: No such file or directory\n");
}

TEST(InvalidConfig, BadSeedAndOutputOptionsAreConfigErrors) {
  Output output = trainer({"--seed", "-1", "--output", ""});
  EXPECT_EQ(output.code, 2);
  expect_parts(output.err, {"command line: seed: ", "command line: output: the value is empty"});
}

}  // namespace
}  // namespace spire
