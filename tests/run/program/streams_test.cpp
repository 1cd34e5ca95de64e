// What goes where: results to stdout, the log to stderr, plain text when neither is
// a terminal, and the lines of devices in metrics.jsonl.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/set_variable.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

using testing::HasSubstr;

class Streams : public testing::Test {
 protected:
  Words words(const std::string& name, const Words& more = {}) const {
    return folder.run(name, test_mlp + Words{"steps=12"} + more);
  }
  static void expect_plain(const std::string& text) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find('\r'), std::string::npos) << text;
  }

  RunFolder folder;
};

TEST_F(Streams, StdoutHoldsTheResultsOnly) {
  Output output = trainer(words("run"));
  std::vector<std::string> labels;
  std::istringstream lines(output.out);
  for (std::string line; std::getline(lines, line);) labels.push_back(line.substr(0, 16));
  EXPECT_EQ(labels,
            (std::vector<std::string>{"best accuracy   ", "time            ", "speed           ",
                                      "peak memory     ", "checkpoint      ", "metrics         ",
                                      "output          ", "parameter hash  "}));
  EXPECT_THAT(output.err, HasSubstr("global batch  32 = 4 towers × 8"));
  EXPECT_THAT(output.err, HasSubstr(" step 12/12 "));
}

TEST_F(Streams, AFileGetsNoEscapesWhateverTheEnvironmentSays) {
  for (const char* no_color : {"", "1"}) {
    SetVariable variable("NO_COLOR", no_color);
    Output output = trainer(words("run", {"--overwrite"}));
    EXPECT_EQ(output.code, 0);
    expect_plain(output.err);
    expect_plain(output.out);
  }
}

TEST_F(Streams, QuietLeavesTheResults) {
  Output loud = trainer(words("loud"));
  Output quiet = trainer(words("quiet", {"--quiet"}));
  EXPECT_EQ(quiet.err, "");
  EXPECT_EQ(printed_hash(quiet), printed_hash(loud));
}

TEST_F(Streams, CheckSaysThatAllIsInOrderAndWritesNothing) {
  Output output = trainer(words("run", {"--check"}));
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out,
            "config, data and devices are good (samples were not read; --deep reads them)\n"
            "task: classify images into 4 classes, with mlp\n");
  EXPECT_EQ(output.err, "");
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

TEST_F(Streams, EvalRepeatsTheRunsLastEvaluation) {
  ASSERT_EQ(trainer(words("run")).code, 0);
  Words at_end = {"--checkpoint", folder.checkpoint("run", 12), "devices=2xcpu"};
  Output output = trainer(Words{"eval"} + words("run", at_end));
  ASSERT_EQ(output.code, 0) << output.err;
  Json val = folder.summary("run")["val"];
  char expected[96];
  std::snprintf(expected, sizeof expected, "test_loss %.6g\ntest_accuracy %.4f\nsamples 100\n",
                val["loss"].get<double>(), val["accuracy"].get<double>());
  EXPECT_THAT(output.out, testing::StartsWith(expected));
}

TEST_F(Streams, PlanPrintsTheBytesOfEachDevice) {
  Output output = trainer(Words{"plan"} + words("run", {"devices=2xcpu"}));
  EXPECT_EQ(output.code, 0) << output.err;
  for (const char* kind : {"weights", "gradients", "optimizer", "activations", "workspace"})
    EXPECT_THAT(output.out, HasSubstr(kind));
  EXPECT_THAT(output.out,
              testing::ContainsRegex("\n +cpu:1 .*[0-9] (B|KiB|MiB).*[0-9] (B|KiB) .*yes\n"));
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

using testing::UnorderedElementsAre;

class DeviceLines : public testing::Test {
 protected:
  // The device and rank of each line, at step 10.
  std::vector<std::pair<std::string, int>> devices(const std::string& name) const {
    std::vector<std::pair<std::string, int>> found;
    for (const Json& line : folder_.metrics(name)) {
      if (!line.contains("device")) continue;
      EXPECT_GT(line["device/arrival_ms"], 0);
      if (line["step"] == 10) found.emplace_back(line["device"], line["rank"]);
    }
    return found;
  }
  void train(const std::string& name, const Words& more) const {
    Words words = test_mlp + Words{"steps=20", "monitor.every_seconds=0.01"} + more;
    Output output = trainer(folder_.run(name, words));
    EXPECT_EQ(output.code, 0) << output.err;
    hashes_.push_back(printed_hash(output));
    expect_ascending(folder_.metrics(name));
  }

  RunFolder folder_;
  mutable Words hashes_;
};

TEST_F(DeviceLines, NameDeviceAndRank) {
  train("one", {"devices=2xcpu"});
  EXPECT_THAT(devices("one"), UnorderedElementsAre(std::pair("cpu:0", 0), std::pair("cpu:1", 0)));
  train("two", {"--processes", "2"});
  EXPECT_THAT(devices("two"), UnorderedElementsAre(std::pair("cpu:0", 0), std::pair("cpu:0", 1)));
  EXPECT_EQ(hashes_[1], hashes_[0]);
}

TEST_F(DeviceLines, TheVerdictIsInTheSummaryAndOnTheScreen) {
  Output output = trainer(folder_.run(
      "run", test_mlp + Words{"steps=200", "eval.every_epochs=0", "checkpoint.every_epochs=0"}));
  ASSERT_EQ(output.code, 0) << output.err;
  const Json summary = folder_.summary("run");
  for (const Json& line : summary.at("verdict"))
    EXPECT_THAT(output.out, HasSubstr(line.get<std::string>() + "\n"));
}

}  // namespace
}  // namespace spire
