// Checks the handlers in this process, and in a child where they end the process.
#include "tools/process/signals.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace spire
