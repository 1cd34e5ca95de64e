// State of a run's directory after an early death; the signals that the supervisor waits for.
#include <gtest/gtest.h>

#include <spire/error.h>

#include "engine/base/write_file.h"
#include "tests/tools/program.h"
#include "tools/process/signals.h"
#include "tools/train/restart_conditions.h"

namespace spire {
namespace {

const ResumeOptions resume_auto{"auto", false};

class RunDirStateTest : public testing::Test {
 protected:
  std::string output() const { return folder_ / "run"; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::path path = output() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    write_file_atomically(path, text, Category::config);
  }
  WorkFolder folder_;
};

TEST_F(RunDirStateTest, ANewDirectoryIsTheRunsOwnFromTheStart) {
  RunDirState state(output());
  EXPECT_TRUE(state.begun());
  EXPECT_FALSE(state.has_checkpoint());
  EXPECT_EQ(options_for_restart({}, state), resume_auto);
  write("checkpoints/step_00000005.h5", "");
  EXPECT_TRUE(state.has_checkpoint());
}

TEST_F(RunDirStateTest, AnotherRunsDirectoryIsLeftAlone) {
  write("config.yaml", "seed: 1\n");
  write("checkpoints/step_00000005.h5", "");
  RunDirState state(output());
  EXPECT_FALSE(state.begun());
  for (const ResumeOptions& given :
       {ResumeOptions{}, ResumeOptions{{}, true}, resume_auto, ResumeOptions{"other.h5", true}})
    EXPECT_EQ(options_for_restart(given, state), given);
}

TEST_F(RunDirStateTest, ADirectoryWithoutARunIsLeftAlone) {
  write("thesis.tex", "all of it");
  RunDirState state(output());
  EXPECT_FALSE(state.begun());
  EXPECT_EQ(options_for_restart({}, state), ResumeOptions{});
}

TEST_F(RunDirStateTest, ARewrittenConfigShowsThatTheRunBegan) {
  write("config.yaml", "seed: 1\n");
  RunDirState state(output());
  write("config.yaml", "seed: 1\n");
  EXPECT_TRUE(state.begun());
  EXPECT_EQ(options_for_restart({{}, true}, state), resume_auto);
}

TEST_F(RunDirStateTest, ABranchGoesBackToItsSourceUntilItHasACheckpoint) {
  RunDirState state(output());
  write("config.yaml", "seed: 1\n");
  EXPECT_EQ(options_for_restart({"other/step_00000005.h5", false}, state),
            (ResumeOptions{"other/step_00000005.h5", true}));
  write("checkpoints/step_00000005.h5", "");
  EXPECT_EQ(options_for_restart({"other/step_00000005.h5", false}, state), resume_auto);
}

TEST(BlockedSignals, WaitUntilTheyAreAskedFor) {
  auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::milliseconds(1); };
  BlockedSignals signals;
  EXPECT_EQ(signals.wait(soon()), std::nullopt);
  for (int number : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGTSTP, SIGCHLD}) {
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
}  // namespace spire
