// Checks the exit codes, streams and messages of command lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/program.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

struct BadUsage {
  std::string name;
  Words words;
  std::string message;

  friend std::ostream& operator<<(std::ostream& out, const BadUsage& usage) {
    return out << usage.message;
  }
};

class BadUsages : public testing::TestWithParam<BadUsage> {};

TEST_P(BadUsages, EndWithCodeTwoAndAHint) {
  Output output = expect_error(2, trainer(GetParam().words), GetParam().message);
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.last_error_line(), StartsWith("error[2]: "));
}

INSTANTIATE_TEST_SUITE_P(
    TowerTrainer, BadUsages,
    testing::Values(
        BadUsage{"Nothing", {}, "there is nothing to train; give --config FILE or KEY.PATH=VALUE"},
        BadUsage{"Subcommand",
                 {"trian", "seed=1"},
                 "'trian' is neither a subcommand nor of the form KEY.PATH=VALUE; did you mean "
                 "'train'?"},
        BadUsage{"SubcommandOfOthers",
                 {"test", "--checkpoint", "runs/x"},
                 "'test' is neither a subcommand nor of the form KEY.PATH=VALUE; did you mean "
                 "'eval'?"},
        BadUsage{"SubcommandOfOthersOfTwoWords", {"convert"}, "did you mean 'dataset convert'?"},
        BadUsage{"PredictWithoutARun",
                 {"predict", "data.name=idx"},
                 "trainer predict: no run is named: trainer predict RUN ..., or --checkpoint RUN"},
        BadUsage{"ExportOfAConfig",
                 {"export", "runs/x", "seed=1", "--to", "x.onnx"},
                 "'seed=1' is not expected: trainer export takes no config; leave it out"},
        BadUsage{
            "SubcommandLate", {"--quiet", "eval"}, "eval: a subcommand must be the first word"},
        BadUsage{"Option",
                 {"--cofnig", "run.yaml"},
                 "--cofnig: unknown option of trainer train; did you mean '--config'?"},
        BadUsage{"OptionOfAnother",
                 {"devices", "--overwrite"},
                 "--overwrite: unknown option of trainer devices"},
        BadUsage{"OptionWithUnderscore", {"--dry_rnu=3"}, "did you mean '--dry-run'?"},
        BadUsage{"ShortOption", {"-x"}, "-x: unknown option"},
        BadUsage{"KeyAsOption",
                 {"--optimizer.lr=0.1"},
                 "is a config key, which is written without dashes: optimizer.lr=0.1"},
        BadUsage{"KeyAsOptionWithAValue", {"--epochs", "3"}, "without dashes: epochs=3"},
        BadUsage{"KeyAsOptionWithoutAValue", {"--epochs", "seed=1"}, "dashes: epochs=VALUE"},
        BadUsage{"LastPartOfAKeyAsOption", {"--lr=0.1"}, "without dashes: optimizer.lr=0.1"},
        BadUsage{"WordOfOthersAsOption",
                 {"--learning-rate", "0.1"},
                 "--learning-rate: is a config key, which is written without dashes: "
                 "optimizer.lr=0.1"},
        BadUsage{"FileAsWord", {"run.yaml"}, "did you mean '--config run.yaml'?"},
        BadUsage{"SweepWithoutAGrid", {"sweep", "seed=1"}, "there is no grid; give a key several"},
        BadUsage{"SweepOfAnUnknownKey",
                 {"sweep", "optimizer.lrr=1,2"},
                 "optimizer.lrr: unknown key; did you mean 'optimizer.lr'?"},
        BadUsage{"SweepOfABadValue", {"sweep", "optimizer.lr=0.1,x"}, "optimizer.lr: expected"},
        BadUsage{"SweepWithoutSlots", {"sweep", "seed=1,2", "--jobs", "0"}, "expected 1 to 4096"},
        BadUsage{"SweepResumedWithWords",
                 {"sweep", "--resume", "runs/x", "seed=1,2"},
                 "--resume takes config and grid from the folder"},
        BadUsage{
            "SweepResumedFromNothing", {"sweep", "--resume", "/proc"}, "there is no sweep.json"},
        BadUsage{"ValueMissing", {"--config"}, "--config"},
        BadUsage{"DryRunZero", {"--dry-run", "0"}, "expected at least 1, got 0"},
        BadUsage{"DryRunWord", {"--dry-run", "few"}, "expected an integer"},
        BadUsage{"NoProcesses", {"--processes", "0"}, "expected 1 to 4096, got 0"},
        BadUsage{"TooManyProcesses", {"--processes=4097"}, "expected 1 to 4096, got 4097"},
        BadUsage{"ProcessesWord", {"--processes=all"}, "expected an integer"},
        BadUsage{"Restarts", {"--max-restarts=-1"}, "got -1"},
        BadUsage{"ProcessesOfEval", {"eval", "--processes=2"}, "--processes: unknown option"},
        BadUsage{"Dataset", {"dataset"}, "expected one of convert, inspect, verify after dataset"},
        BadUsage{"DatasetWord", {"dataset", "convret"}, "did you mean 'convert'?"},
        BadUsage{"DatasetTo",
                 {"dataset", "convert", "data.name=idx"},
                 "add --to PATH, where the result is written"},
        BadUsage{"DatasetFormat", {"dataset", "convert", "--format", "zip"}, "zip"},
        BadUsage{"DatasetOrder", {"dataset", "convert", "--order", "random"}, "random"},
        BadUsage{"DatasetShards", {"dataset", "convert", "--shard-tokens=0"}, "got 0"},
        BadUsage{
            "DatasetSynthetic", {"dataset", "verify", "data.name=synthetic"}, "are not stored"},
        BadUsage{"LogLevel", {"--log-level", "loud"}, "must be info, warning or error, got 'loud'"},
        BadUsage{"ConfigForDevices", {"devices", "seed=1"}, "trainer devices takes no config"}),
    [](const auto& usage) { return usage.param.name; });

TEST(Help, GoesToStdout) {
  for (const Words& words : {Words{"--help"}, Words{"-h"}, Words{"help"}}) {
    Output output = expect_success(trainer(words));
    EXPECT_EQ(output.err, "");
    expect_parts(output.out,
                 {"\n  train ", "\n  eval ", "\n  plan ", "\n  devices ", "\n  version "});
  }
}

TEST(Help, OfASubcommandListsItsOptions) {
  Output output = expect_success(trainer({"train", "--help"}));
  expect_parts(output.out, {"--config", "--set", "--output", "--seed", "--print-config",
                            "--help-config", "--check", "--resume", "--overwrite", "--dry-run",
                            "--processes", "--max-restarts", "--quiet", "--log-level"});
}

TEST(Help, OfAGroupListsItsSubcommands) {
  for (const char* word : {"--help", "-h", "help"}) {
    Output output = expect_success(trainer({"dataset", word}));
    EXPECT_EQ(output.err, "");
    EXPECT_THAT(output.out, StartsWith("Usage: trainer dataset SUBCOMMAND"));
    expect_parts(output.out,
                 {"\n  dataset convert ", "\n  dataset inspect ", "\n  dataset verify "});
  }
}

TEST(Version, IsOneLineUnlessVerbose) {
  for (const Words& words : {Words{"version"}, Words{"--version"}}) {
    Output output = expect_success(trainer(words));
    EXPECT_THAT(output.out, MatchesRegex("spire [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  }
  Output verbose = expect_success(trainer({"--version", "--verbose"}));
  expect_parts(verbose.out, {"build: ", "Unicode: 1", "oneDNN ", "HDF5 ", "yaml-cpp ", "cuda: "});
}

TEST(Devices, ListsTheCoresThatMayBeUsed) {
  Output output = expect_success(trainer({"devices"}));
  EXPECT_EQ(output.err, "");
  EXPECT_THAT(output.out, testing::ContainsRegex("cpu +[0-9]+ of [0-9]+ cores: [0-9]"));
  EXPECT_THAT(output.out, HasSubstr("\ncuda"));
}

}  // namespace
}  // namespace spire
