// trainer bench as a program: processes, hashes, reports, errors, signals.
#include <filesystem>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/thread.h"
#include "tests/tools/program.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class BenchProgram : public testing::Test {
 protected:
  // The words of a benchmark whose report lands in `folder`.
  Words bench(const Words& more) const {
    return Words{"bench", "--kind", "cpu", "--output", folder / "report"} + more;
  }
  std::string report(const std::string& name) const { return folder / ("report/" + name); }

  WorkFolder folder;
};

// A network so small that its steps take no time.
Words small_network() {
  return {"model.name=mlp",
          "model.hidden=[16]",
          "data.name=synthetic",
          "data.synthetic.kind=features",
          "data.synthetic.shape=[8]",
          "batch_size=8",
          "--steps",
          "4",
          "--warmup",
          "1",
          "--no-ceilings"};
}

std::vector<std::string> hashes_in(const std::string& text) {
  std::regex hash("\\b[0-9a-f]{16}\\b");
  return {std::sregex_token_iterator(text.begin(), text.end(), hash), {}};
}

Output expect_equal_hashes(size_t least, const Words& words) {
  Output output = expect_success(trainer(words));
  std::vector<std::string> hashes = hashes_in(output.out);
  EXPECT_GE(hashes.size(), least) << output.out;
  EXPECT_EQ(std::set<std::string>(hashes.begin(), hashes.end()).size(), 1u) << output.out;
  return output;
}

TEST_F(BenchProgram, StrongScalingEndsWithEqualHashes) {
  if (allowed_cores().size() < 2) GTEST_SKIP() << "needs two cores";
  Output output =
      expect_equal_hashes(2, bench({"--model", "mlp", "--counts", "1,2", "--steps", "4", "--warmup",
                                    "1", "--rounds", "1", "--scaling", "strong", "--no-ceilings"}));
  EXPECT_THAT(output.err, HasSubstr("round 1/1: strong scaling, 2 cpu, 1 process, 2 towers"));
}

TEST_F(BenchProgram, EveryStrategyAndNumberOfProcessesTrainsTheSameBits) {
  if (allowed_cores().size() < 2) GTEST_SKIP() << "needs two cores";
  expect_equal_hashes(
      4, bench(small_network() + Words{"--counts", "2", "--processes", "1,2", "--scaling", "strong",
                                       "--strategies", "mirrored,sharded", "--rounds", "1"}));
}

TEST_F(BenchProgram, RefusesWhatCannotBeMeasured) {
  struct {
    Words words;
    const char* message;
  } cases[] = {{{"--counts", "9999"}, "use at most"},
               {{"--precisions", "fp16"}, "fp16 needs GPUs"},
               {{"--model", "mlp", "--config", "run.yaml"}, "--config"},
               {{"--rounds", "0"}, "expected 1 to 1000000"},
               {{"--steps", "9223372036854775807"}, "expected 1 to 1000000000"},
               {{"--towers-per-device", "1000001"}, "expected 1 to 1000000"},
               {{"--link", "pcie", "--predict", "8,1000001"}, "expected 1 to 1000000"},
               {{"--scaling", "weaker"}, "weaker"},
               {{"--ops"}, "--ops"},
               {{"--link", "nvlink"}, "--predict"},
               {{"--compare", "a.json", "b.json"}, "--compare"},
               {{"data.name=csv", "data.path=/nonexistent.csv"}, "/nonexistent.csv"}};
  for (const auto& [more, message] : cases) {
    Output output = trainer(bench(small_network() + more));
    EXPECT_NE(output.code, 0);
    EXPECT_THAT(output.err, HasSubstr(message));
  }
  EXPECT_THAT(trainer({"bench"}).err, HasSubstr("--model NAME"));
}

Words ops_of_mlp(const Words& more) {
  return Words{"bench", "--kind", "cpu", "--model", "mlp", "--ops"} + more;
}

// A device has one core here, so its two towers run one after another on one lane.
TEST(BenchOps, AreThoseOfOneDevice) {
  Output output = expect_success(trainer(ops_of_mlp({"--towers-per-device", "2"})));
  expect_parts(output.out, {"ops of a tower's step on cpu:0 (1 thread), 64 samples, "
                            "fp32; 1 lane at the same time; medians of 10 runs",
                            "GFLOP/s of products in fp32, ", "dense_backward_weights"});
}

TEST(BenchOps, HaveTheThreadsOfTheirDevice) {
  if (allowed_cores().size() < 2) GTEST_SKIP() << "needs two cores";
  Output output = expect_success(trainer(ops_of_mlp({"tower_threads=2"})));
  EXPECT_THAT(output.out, HasSubstr("on cpu:0 (2 threads), 64 samples, fp32; 1 lane at"));
}

// A limit on memory that no plan fits: each process refuses, and says so.
TEST_F(BenchProgram, FailsWhereAllVariantsFail) {
  Words words = small_network() + Words{"--counts", "1", "--rounds", "1", "memory.limit=1KiB"};
  Output output = expect_error(1, trainer(bench(words)), "memory.limit");
  EXPECT_THAT(output.last_error_line(), StartsWith("error[1]: no variant could run"));
}

TEST_F(BenchProgram, KeepsTheRoundsBeforeCtrlC) {
  Program program(bench(small_network() +
                        Words{"--counts", "1", "--scaling", "strong", "--rounds", "1000000"}));
  ASSERT_TRUE(program.wait_for("round 2/1000000"));
  program.signal(SIGINT);
  Output output = expect_error(75, program.finish(), "error[75]: stopped by a signal");
  EXPECT_FALSE(hashes_in(output.out).empty()) << output.out;
}

TEST_F(BenchProgram, WritesReportsThatCompareAndAreNotReplacedUnasked) {
  Words words = small_network();
  std::erase(words, "--no-ceilings");
  words = words + Words{"--counts", "1",         "--scaling", "weak",   "--rounds",
                        "1",        "--predict", "2,8",       "--link", "eth:100Gb"};
  Output first = expect_success(trainer(bench(words)));
  EXPECT_THAT(first.out, HasSubstr("model, not measured"));
  for (const char* name : {"bench.json", "bench.csv", "bench.html"})
    EXPECT_TRUE(std::filesystem::exists(report(name))) << name;
  expect_error(2, trainer(bench(words)), "has the report of another benchmark");
  std::string json = report("bench.json");
  Output compared = expect_success(trainer({"bench", "--compare", json, json}));
  EXPECT_THAT(compared.out, HasSubstr("1.00"));
}

TEST_F(BenchProgram, RefusesAFolderThatCannotBeWritten) {
  folder.write("report", "a file");
  expect_error(2, trainer(bench(small_network())), "output: cannot create");
}

}  // namespace
}  // namespace spire
