// The handlers of signals, in this process, and in a child where they end the process; the outcome
// of an attempt from the exit statuses of its processes.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/process/attempt.h"
#include "tools/process/signals.h"

namespace spire {
namespace {

TEST(StopSignals, AreThoseOfTerminalsAndBatchSystems) {
  EXPECT_THAT(stop_signals,
              testing::UnorderedElementsAre(SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU));
}

TEST(StopSignals, EachSetsTheFlagOnce) {
  for (int number : stop_signals) {
    StopSignals signals(StopSignals::saving);
    signals.begin_work();
    EXPECT_FALSE(signals.flag()->load());
    raise(number);
    EXPECT_TRUE(signals.flag()->load());
  }
}

TEST(StopSignals, ASecondTermDoesNotEndTheProcess) {
  StopSignals signals(StopSignals::saving);
  signals.begin_work();
  raise(SIGTERM);
  raise(SIGTERM);
  raise(SIGINT);
  EXPECT_TRUE(signals.flag()->load());
}

TEST(StopSignals, ASecondInterruptEndsAtOnce) {
  auto interrupt_twice = [] {
    StopSignals signals(StopSignals::saving);
    signals.begin_work();
    raise(SIGINT);
    raise(SIGINT);
  };
  EXPECT_EXIT(interrupt_twice(), testing::ExitedWithCode(130), "stopping");
}

TEST(StopSignals, RestoresTheHandlersFromBefore) {
  { StopSignals signals(StopSignals::saving); }
  EXPECT_EXIT(raise(SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

// As a second Ctrl+C that comes when a supervisor's processes have ended.
TEST(StopSignals, BehindTheWorkNoneChangesTheExitCode) {
  auto end = [] {
    {
      StopSignals signals(StopSignals::saving);
      BlockedSignals blocked;
      for (int number : stop_signals) raise(number);
      StopSignals::end_work();
    }
    raise(SIGINT);
    std::_Exit(0);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(0), "^$");
}

// There is nothing to save yet, and no code reads the flag.
TEST(StopSignals, BeforeTheWorkEachEndsAtOnce) {
  for (int number : stop_signals) {
    auto stop = [&] {
      StopSignals signals(StopSignals::saving);
      raise(number);
    };
    EXPECT_EXIT(stop(), testing::ExitedWithCode(75), "error.75.: stopped by a signal before");
  }
}

TEST(StopSignals, ThoseThatCameWhileTheProcessStartedComeNow) {
  for (int number : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    auto stop = [&] {
      sigset_t mask = BlockedSignals().mask_until_handled();
      sigprocmask(SIG_SETMASK, &mask, nullptr);
      raise(number);
      StopSignals signals(StopSignals::saving);
      std::abort();
    };
    EXPECT_EXIT(stop(), testing::ExitedWithCode(75), "error.75.: stopped by a signal before");
  }
}

TEST(StopSignals, AnIgnoredHangupStaysIgnored) {
  auto before = std::signal(SIGHUP, SIG_IGN);
  {
    StopSignals signals(StopSignals::saving);
    raise(SIGHUP);
    signals.begin_work();
    raise(SIGHUP);
    EXPECT_FALSE(signals.flag()->load());
  }
  EXPECT_EQ(std::signal(SIGHUP, before), SIG_IGN);
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

ExitStatus exited(int rank, int code) {
  return {.rank = rank, .code = code};
}
ExitStatus killed(int rank, int signal, bool forced = false) {
  return {.rank = rank, .code = 0, .signal = signal, .forced = forced};
}

struct Case {
  const char* name;
  std::vector<ExitStatus> statuses;
  int code;
  bool restartable;
  int rank;  // whose end is the cause
  int died;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

class Judge : public testing::TestWithParam<Case> {};

TEST_P(Judge, NamesTheCauseWhateverCameFirst) {
  std::vector<ExitStatus> statuses = GetParam().statuses;
  for (bool reversed : {false, true}) {
    if (reversed) std::ranges::reverse(statuses);
    Outcome outcome = judge(statuses);
    EXPECT_EQ(outcome.code, GetParam().code);
    EXPECT_EQ(outcome.restartable, GetParam().restartable);
    EXPECT_EQ(outcome.died, GetParam().died);
    if (outcome.code != 0) {
      EXPECT_EQ(outcome.cause.rank, GetParam().rank);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ends, Judge,
    testing::Values(
        Case{"Good", {exited(0, 0), exited(1, 0)}, 0, false, 0, 0},
        Case{"Config", {exited(0, 2), killed(1, SIGKILL, true)}, 2, false, 0, 0},
        Case{"DivergedBesideTimeouts", {exited(0, 8), exited(1, 7), exited(2, 8)}, 7, false, 1, 0},
        Case{"DataBesideADeath", {killed(0, SIGSEGV), exited(1, 4)}, 4, false, 1, 1},
        Case{"FullDiskWhileStopping", {exited(0, 5), exited(1, 75)}, 5, false, 0, 0},
        Case{"Stopped", {exited(0, 75), exited(1, 8)}, 75, false, 0, 0},
        Case{"StoppedBesideADeath", {exited(0, 75), killed(1, SIGKILL)}, 75, false, 0, 1},
        Case{"Killed", {exited(0, 8), killed(1, SIGKILL), exited(2, 8)}, 8, true, 1, 1},
        Case{"KilledAfterTheEnd", {exited(0, 0), killed(1, SIGKILL)}, 8, true, 1, 1},
        Case{"TwoKilled", {killed(1, SIGBUS), exited(0, 8), killed(1, SIGABRT)}, 8, true, 1, 2},
        Case{"Unexpected", {exited(0, 8), exited(1, 1)}, 1, true, 1, 0},
        Case{"UnexpectedBesideADeath", {exited(0, 1), killed(1, SIGSEGV)}, 8, true, 1, 1},
        Case{"Timeout", {exited(0, 8), killed(1, SIGKILL, true)}, 8, true, 0, 0},
        Case{"KilledBesideOneAskedToEnd",
             {killed(0, SIGKILL), {.rank = 1, .code = 75, .forced = true}},
             8,
             true,
             0,
             1},
        Case{"AllForced", {exited(0, 0), killed(1, SIGKILL, true)}, 8, true, 1, 0}),
    [](const auto& test) { return test.param.name; });

TEST(Judge, TheFirstOfEqualsIsTheCause) {
  EXPECT_EQ(judge(std::vector{exited(2, 8), exited(0, 8)}).cause.rank, 2);
  EXPECT_EQ(judge(std::vector{killed(1, SIGKILL), killed(0, SIGKILL)}).cause.rank, 1);
}

TEST(ExitStatusText, SaysWhoAndHow) {
  EXPECT_EQ(to_string(killed(2, SIGKILL)), "rank 2 was killed by signal 9 (Killed)");
  EXPECT_EQ(to_string(killed(-1, SIGSEGV)),
            "the process was killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(to_string(exited(0, 8)), "rank 0 ended with exit code 8");
  EXPECT_EQ(to_string(killed(3, SIGKILL, true)), "rank 3 did not end by itself");
}

}  // namespace
}  // namespace spire
