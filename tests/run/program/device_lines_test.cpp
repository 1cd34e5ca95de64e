// Lines of devices in metrics.jsonl and the verdict, of the program in one and two processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

using testing::HasSubstr;
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
