// Failures with a course of their own: in a run of one process, of one rank's data, of the numbers,
// of a rank that never comes, and a signal to one rank.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "tests/run/program/faults/faulty_ranks.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

class FaultCases : public testing::Test {
 protected:
  Start start(int ranks, const std::string& name, const Words& more,
              const Fault& fault = {}) const {
    Start start;
    start.ranks = ranks;
    start.launcher = ranks == 1 ? Launcher::none : Launcher::variables;
    start.fault = fault;
    start.words = folder_.run(
        name, test_mlp + Words{"towers=12", "batch_size=2", "steps=20"} + limits(100) + more);
    return start;
  }

  std::string straight_hash(const Words& more) const {
    Output output = trainer(start(1, "straight", more).words);
    EXPECT_EQ(output.code, 0) << output.err;
    return printed_hash(output);
  }

  RunFolder folder_;
};

TEST_F(FaultCases, ARankWithSlowDataIsNamedByTheVerdict) {
  Fault slow = {.rank = 1, .phase = "data", .kind = "slow"};
  Words words = {"steps=60", "eval.every_epochs=0", "checkpoint.every_epochs=0"};
  std::vector<Output> outputs = Ranks(start(2, "slow", words, slow)).finish();
  for (const Output& output : outputs) EXPECT_EQ(output.code, 0) << output.err;
  auto lines = folder_.summary("slow").at("verdict").get<Words>();
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines[0], MatchesRegex("input-bound [0-9]+ %: rank 1 waits for its data, and the "
                                     "others for it; raise data.workers \\(now 1\\)"));
}

class OneProcess : public FaultCases {
 protected:
  Start on_second_device(const std::string& phase, const std::string& kind) const {
    Fault fault = {.rank = 0, .phase = phase, .kind = kind, .step = 7, .thread = "cpu:1"};
    Words more = {"devices=[cpu:0, cpu:1]", "strategy=mirrored"};
    return start(1, phase + kind, more + limits(kind == "stall" ? step_limit : 100), fault);
  }
};

TEST_F(OneProcess, AHangingDeviceThreadIsNamedAndTheProcessEnds) {
  const std::vector<std::string> phases = {"forward", "backward", "update"};
  std::vector<std::unique_ptr<Ranks>> runs;
  for (const std::string& phase : phases)
    runs.push_back(std::make_unique<Ranks>(on_second_device(phase, "stall")));
  for (size_t i = 0; i < phases.size(); ++i) {
    Output output = runs[i]->finish()[0];
    EXPECT_EQ(output.code, 8) << output.err;
    EXPECT_THAT(output.last_error_line(), StartsWith("error[8]: "));
    EXPECT_THAT(output.last_error_line(),
                HasSubstr("cpu:1: no progress in " + phases[i] + " of step 7 for "));
  }
}

TEST_F(OneProcess, ADeviceThreadThatThrowsIsNamed) {
  for (const char* phase : {"forward", "backward", "update"}) {
    Output output = Ranks(on_second_device(phase, "throw")).finish()[0];
    EXPECT_EQ(output.code, 8) << output.err;
    EXPECT_EQ(output.last_error_line(),
              fmt::format("error[8]: cpu:1, {} of step 7: made to fail", phase));
  }
}

TEST_F(OneProcess, AnErrorKeepsItsCodeAndItsWords) {
  for (auto [kind, code] : {std::pair("error", 4), std::pair("bug", 1)}) {
    Fault fault = {.rank = 0, .phase = "data", .kind = kind, .step = 7};
    Output output = Ranks(start(1, kind, {"devices=2xcpu"}, fault)).finish()[0];
    EXPECT_EQ(output.code, code) << output.err;
    EXPECT_EQ(output.last_error_line(), fmt::format("error[{}]: made to fail", code));
  }
}

TEST_F(FaultCases, AnErrorOfOneRanksDataIsThatOfAll) {
  Fault fault = {.rank = 1, .phase = "data", .kind = "error", .step = 7};
  auto outputs = Ranks(start(3, "run", {}, fault)).finish();
  for (const Output& output : outputs) EXPECT_EQ(output.code, 4) << output.err;
  for (int rank : {0, 1})
    EXPECT_THAT(
        outputs[static_cast<size_t>(rank)].last_error_line(),
        MatchesRegex("error\\[4\\]: rank 1 \\(.*\\), cpu:0.*, data of step 7: made to fail"));
}

// Each rank finds its own files at the same path; one of them has bad ones.
TEST_F(FaultCases, FilesThatAreBadOnOneRankAreNamedWithIt) {
  Start start = this->start(3, "run", {"data.path=data"});
  start.folders.assign(3, folder_ / "");
  for (bool missing : {true, false}) {
    fs::path folder = folder_ / (missing ? "missing" : "cut");
    fs::create_directory(folder);
    if (!missing) {
      fs::copy(folder_ / "data", folder / "data");
      fs::resize_file(folder / "data" / "train-images-idx3-ubyte", 100);
    }
    start.folders[1] = folder;
    auto outputs = Ranks(start).finish();
    for (const Output& output : outputs) EXPECT_EQ(output.code, 4) << output.err;
    EXPECT_THAT(outputs[0].last_error_line(), StartsWith("error[4]: rank 1 (host "));
    EXPECT_EQ(outputs[1].last_error_line(), outputs[0].last_error_line());
    EXPECT_EQ(outputs[2].err, "");
  }
}

// All ranks see it, one tells, none is named.
TEST_F(FaultCases, ARunThatDivergesIsToldOnce) {
  auto outputs = Ranks(start(3, "run", {"optimizer.lr=1e30"})).finish();
  for (const Output& output : outputs) EXPECT_EQ(output.code, 7) << output.err;
  EXPECT_THAT(outputs[0].last_error_line(),
              MatchesRegex("error\\[7\\]: step [0-9]+: the run diverged: the loss is .*"));
  EXPECT_EQ(count(outputs[0].err, "error["), 1);
  EXPECT_EQ(outputs[1].err + outputs[2].err, "");
}

TEST_F(FaultCases, ARankThatNeverComesIsNamed) {
  for (int absent : {0, 1, 2}) {
    Start start = this->start(3, "run", {"timeouts.start=2"});
    start.absent = {absent};
    auto outputs = Ranks(start).finish();
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == absent) continue;
      const Output& output = outputs[static_cast<size_t>(rank)];
      EXPECT_EQ(output.code, 8) << output.err;
      EXPECT_THAT(output.last_error_line(), StartsWith("error[8]: "));
      EXPECT_THAT(output.last_error_line(), HasSubstr(fmt::format("rank {}", absent)));
    }
    EXPECT_FALSE(fs::exists(folder_ / "run"));
  }
}

TEST_F(FaultCases, ASignalToOneRankStopsAllAtTheSameStep) {
  Words often = {"checkpoint.every_steps=50"};
  Ranks ranks(start(3, "run", often + Words{"steps=1000000"}));
  ASSERT_TRUE(ranks[0].wait_for("checkpoint step "));
  ranks[1].signal(SIGTERM);
  auto outputs = ranks.finish();
  for (const Output& output : outputs) EXPECT_EQ(output.code, 75) << output.err;
  auto step = folder_.summary("run")["steps"].get<int64_t>();
  EXPECT_EQ(folder_.checkpoints("run").back(), step);
  EXPECT_THAT(outputs[0].last_error_line(),
              HasSubstr(fmt::format("error[75]: stopped by a signal at step {};", step)));
  EXPECT_EQ(count(outputs[1].err + outputs[2].err, "error["), 0);

  Words rest = {fmt::format("steps={}", step + 7)};
  auto resumed = Ranks(start(2, "run", rest + Words{"--resume", "auto"})).finish();
  EXPECT_EQ(resumed[0].code, 0) << resumed[0].err;
  EXPECT_EQ(printed_hash(resumed[0]), straight_hash(rest));
}

}  // namespace
}  // namespace spire
