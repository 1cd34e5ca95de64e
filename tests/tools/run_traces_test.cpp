// What a started run leaves behind when it dies early, and what may be done with it.
#include <gtest/gtest.h>

#include <spire/error.h>

#include "engine/base/write_file.h"
#include "engine/process/socket.h"
#include "tests/tools/program.h"
#include "tools/blocked_signals.h"
#include "tools/master_port.h"
#include "tools/run_dir_state.h"

namespace spire::tool {
namespace {

const TakeUp kAuto{"auto", false};

class RunTracesTest : public testing::Test {
 protected:
  std::string output() const { return folder_ / "run"; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::path path = output() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    write_file_atomically(path, text, Category::config);
  }
  TemporaryFolder folder_;
};

TEST_F(RunTracesTest, ANewDirectoryIsTheRunsOwnFromTheStart) {
  RunDirState traces(output());
  EXPECT_TRUE(traces.begun());
  EXPECT_FALSE(traces.has_checkpoint());
  EXPECT_EQ(take_up_again({}, traces), kAuto);
  write("checkpoints/step_00000005.h5", "");
  EXPECT_TRUE(traces.has_checkpoint());
}

TEST_F(RunTracesTest, AnotherRunsDirectoryIsLeftAlone) {
  write("config.yaml", "seed: 1\n");
  write("checkpoints/step_00000005.h5", "");
  RunDirState traces(output());
  EXPECT_FALSE(traces.begun());
  for (const TakeUp& given : {TakeUp{}, TakeUp{{}, true}, kAuto, TakeUp{"other.h5", true}})
    EXPECT_EQ(take_up_again(given, traces), given);
}

TEST_F(RunTracesTest, ADirectoryWithoutARunIsLeftAlone) {
  write("thesis.tex", "all of it");
  RunDirState traces(output());
  EXPECT_FALSE(traces.begun());
  EXPECT_EQ(take_up_again({}, traces), TakeUp{});
}

TEST_F(RunTracesTest, TheSameConfigWrittenAnewTellsThatItBegan) {
  write("config.yaml", "seed: 1\n");
  RunDirState traces(output());
  write("config.yaml", "seed: 1\n");
  EXPECT_TRUE(traces.begun());
  EXPECT_EQ(take_up_again({{}, true}, traces), kAuto);
}

TEST_F(RunTracesTest, ABranchGoesBackToItsSourceUntilItHasACheckpoint) {
  RunDirState traces(output());
  write("config.yaml", "seed: 1\n");
  EXPECT_EQ(take_up_again({"other/step_00000005.h5", false}, traces),
            (TakeUp{"other/step_00000005.h5", true}));
  write("checkpoints/step_00000005.h5", "");
  EXPECT_EQ(take_up_again({"other/step_00000005.h5", false}, traces), kAuto);
}

TEST(MasterPort, IsForOneWhoAsksForItAndForNobodyElse) {
  MasterPort first, second;
  EXPECT_NE(first.number(), second.number());
  Listener listener(first.number());
  EXPECT_EQ(listener.port(), first.number());
  EXPECT_THROW(Listener(first.number()), Error);
}

TEST(MasterPort, NobodyTalksToItBeforeRankZeroListens) {
  MasterPort port;
  EXPECT_THROW(connect_to("127.0.0.1", port.number(), std::chrono::steady_clock::now()), Error);
}

TEST(BlockedSignals, WaitUntilTheyAreAskedFor) {
  auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::milliseconds(1); };
  BlockedSignals signals;
  EXPECT_EQ(signals.wait(soon()), std::nullopt);
  for (int number : {SIGINT, SIGTERM, SIGUSR1, SIGTSTP, SIGCHLD}) {
    raise(number);
    EXPECT_EQ(signals.wait({}), number);
  }
  raise(SIGTERM);
  EXPECT_EQ(signals.wait(std::chrono::steady_clock::time_point()), SIGTERM);  // though overdue
  EXPECT_EQ(signals.wait(soon()), std::nullopt);
}

TEST(BlockedSignals, HoldAHangupUnlessItIsIgnored) {
  {
    BlockedSignals signals;
    raise(SIGHUP);
    EXPECT_EQ(signals.wait(BlockedSignals::Deadline()), SIGHUP);
  }
  auto before = std::signal(SIGHUP, SIG_IGN);
  {
    BlockedSignals signals;
    raise(SIGHUP);
    EXPECT_EQ(signals.wait(BlockedSignals::Deadline()), std::nullopt);
  }
  std::signal(SIGHUP, before);
}

}  // namespace
}  // namespace spire::tool
