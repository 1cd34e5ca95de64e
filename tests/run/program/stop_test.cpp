// SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU and a time that is over: a checkpoint, exit
// code 75, and a run that goes on.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/set_variable.h"
#include "tests/run/program/run_folder.h"
#include "tests/run/program/under_conditions.h"
#include "tests/tools/many_processes.h"

namespace spire {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Stop : public testing::Test {
 protected:
  Words words(const std::string& name, int64_t steps, const Words& more = {}) const {
    return folder.run(name, test_cnn + Words{"steps=" + std::to_string(steps)} + more);
  }
  static constexpr int64_t forever = 1000000;

  RunFolder folder;
};

// Alone, and as two ranks that another process starts.
class StopBy : public Stop, public testing::WithParamInterface<std::tuple<int, bool>> {};

TEST_P(StopBy, SavesACheckpointAndGoesOnLikeAStraightRun) {
  auto [signal, ranks] = GetParam();
  Words two = {"--processes=2", "--max-restarts=1"};
  Program program(words("stopped", forever, ranks ? two : Words{}));
  ASSERT_TRUE(program.wait_for("checkpoint step "));
  std::vector<pid_t> children = wait_for_ranks(program, ranks ? 2 : 0);
  program.signal(signal);
  Output stopped = program.finish();
  EXPECT_TRUE(std::ranges::all_of(children, gone));
  EXPECT_EQ(stopped.code, 75) << stopped.err;
  EXPECT_EQ(count(stopped.err, "\nstopping: "), 1) << stopped.err;
  EXPECT_EQ(count(stopped.err, "error["), 1) << stopped.err;
  Json summary = folder.summary("stopped");
  auto step = summary["steps"].get<int64_t>();
  EXPECT_THAT(stopped.last_error_line(),
              HasSubstr("error[75]: stopped by a signal at step " + std::to_string(step)));
  EXPECT_THAT(stopped.last_error_line(), HasSubstr("--resume auto"));
  EXPECT_EQ(summary["exit"], 75);
  EXPECT_EQ(summary["stopped_by"], "signal");
  EXPECT_EQ(summary["checkpoint"], folder.checkpoint("stopped", step).string());
  EXPECT_EQ(folder.checkpoints("stopped").back(), step);

  Output straight = trainer(words("straight", step + 13));
  Output resumed = trainer(words("stopped", step + 13, {"--resume", "auto", "devices=2xcpu"}));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(printed_hash(resumed), printed_hash(straight));
  EXPECT_EQ(curve(folder.metrics("stopped")), curve(folder.metrics("straight")));
}

INSTANTIATE_TEST_SUITE_P(TowerTrainer, StopBy,
                         testing::Combine(testing::Values(SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2,
                                                          SIGXCPU),
                                          testing::Bool()),
                         [](const auto& test) {
                           return fmt::format("Signal{}{}", std::get<0>(test.param),
                                              std::get<1>(test.param) ? "InTwoRanks" : "");
                         });

TEST_F(Stop, NohupKeepsARunFromHangups) {
  Program program("/bin/bash", in_shell("trap '' HUP;", "", words("run", forever)));
  ASSERT_TRUE(program.wait_for(" step 1/"));
  program.signal(SIGHUP);
  ASSERT_TRUE(program.wait_for("checkpoint step 20"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().code, 75);
}

// Members of a gzip file may follow each other: minutes of reading in a file of a few megabytes.
void write_long_table(const fs::path& path) {
  std::string rows, member = path.string() + ".part.gz";
  for (int i = 0; i < 1 << 17; ++i) rows += i % 2 ? "0.25,1.75,a\n" : "1.25,0.75,b\n";
  std::ofstream(path.string() + ".part") << rows;
  ASSERT_EQ(std::system(("gzip -f " + path.string() + ".part").c_str()), 0);
  std::string bytes = content_of(member);
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < 400; ++i) file << bytes;
}

// The run directory is locked before the data are read, and nothing else is in it.
TEST_F(Stop, WhileDataAreReadEndsAtOnce) {
  write_long_table(folder / "long.csv");
  Words table = {"data.name=csv", "data.path=" + (folder / "long.csv").string()};
  for (const Words& more : {Words{}, Words{"--max-restarts=1"}, Words{"--processes=2"}}) {
    Program program(folder.run("run", test_mlp + table + more));
    ASSERT_TRUE(within_a_minute([&] { return fs::exists(folder / "run/.spire_run"); }));
    program.signal(SIGTERM);
    ASSERT_TRUE(program.ends_by(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
    Output output = program.finish();
    EXPECT_EQ(output.code, 75) << output.err;
    EXPECT_EQ(output.last_error_line(),
              "error[75]: stopped by a signal before there was anything to save; the same command "
              "begins again");
    EXPECT_FALSE(fs::exists(folder / "run/config.yaml"));
    fs::remove_all(folder / "run");
  }
}

// The loader still reads the libraries of some of them then.
TEST_F(Stop, WhileItsProcessesStartIsNoKill) {
  for (int signal : {SIGTERM, SIGUSR1}) {
    Program program(words("run", forever, {"--processes=2", "towers=2"}));
    ASSERT_TRUE(within_a_minute([&] { return !children_of(program.pid()).empty(); }));
    program.signal(signal);
    Output output = program.finish();
    EXPECT_EQ(output.code, 75) << output.err;
    EXPECT_EQ(output.last_error_line(),
              "error[75]: stopped by a signal before there was anything to save; the same command "
              "begins again");
  }
}

// A pipe without a reader in the place of each checkpoint: writing one never ends.
TEST_F(Stop, ASecondInterruptEndsAtOnceThoughACheckpointHangs) {
  Program program(words("run", forever, {"checkpoint.every_steps=50"}));
  ASSERT_TRUE(program.wait_for(" step 1/"));
  fs::create_directories(folder / "run/checkpoints");
  for (int64_t step = 50; step < 100000; step += 50)
    mkfifo((folder.checkpoint("run", step).string() + ".tmp").c_str(), 0600);
  program.signal(SIGINT);
  ASSERT_TRUE(program.wait_for("stopping: "));
  program.signal(SIGINT);
  EXPECT_EQ(program.finish().code, 130);
}

// A variable tells it that it began years ago, so no test waits.
TEST(MaxTime, StopsAllRanksAtOneStepWithACheckpointThatGoesOn) {
  RunFolder folder;
  Words words = test_mlp + Words{"steps=6", "checkpoint.every_epochs=0", "max_time=1h"};
  std::string straight = printed_hash(trainer(folder.run("straight", words)));
  for (const Words& processes :
       {Words{}, Words{"--processes", "2"}, Words{"--max-restarts", "1"}}) {
    std::string name = processes.empty() ? "alone" : processes.front().substr(2);
    SCOPED_TRACE(name);
    int64_t steps = name == "processes" ? 2 : 1;  // the others learn of it in the next step
    Words run = folder.run(name, words + processes);
    {
      SetVariable begun("SPIRE_STARTED", "-1000000000000000000");
      Output stopped = trainer(run);
      EXPECT_EQ(stopped.code, 75) << stopped.err;
      EXPECT_THAT(stopped.err, HasSubstr(fmt::format("error[75]: stopped by max_time at step {}; "
                                                     "continue with --resume auto",
                                                     steps)));
    }
    EXPECT_EQ(folder.summary(name)["stopped_by"], "max_time");
    EXPECT_EQ(folder.summary(name)["exit"], 75);
    EXPECT_EQ(folder.checkpoints(name), std::vector<int64_t>{steps});
    {
      SetVariable begun("SPIRE_STARTED", "-1000000000000000000");  // each attempt gets on
      EXPECT_EQ(trainer(run + Words{"--resume", "auto"}).code, 75);
      EXPECT_EQ(folder.summary(name)["steps"], 2 * steps);
    }
    Output resumed = trainer(run + Words{"--resume", "auto"});
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(printed_hash(resumed), straight);
  }
}

}  // namespace
}  // namespace spire
