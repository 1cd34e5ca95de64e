// The handlers themselves, in this process and in one that may die.
#include <gtest/gtest.h>

#include "tools/signals.h"

namespace spire::tool {
namespace {

TEST(StopSignals, EachSetsTheFlagOnce) {
  for (int number : {SIGINT, SIGTERM, SIGUSR1}) {
    StopSignals signals(StopSignals::saving);
    EXPECT_FALSE(signals.flag()->load());
    raise(number);
    EXPECT_TRUE(signals.flag()->load());
  }
}

TEST(StopSignals, ASecondTermIsPatient) {
  StopSignals signals(StopSignals::saving);
  raise(SIGTERM);
  raise(SIGTERM);
  raise(SIGINT);
  EXPECT_TRUE(signals.flag()->load());
}

TEST(StopSignals, ASecondInterruptEndsAtOnce) {
  auto interrupt_twice = [] {
    StopSignals signals(StopSignals::saving);
    raise(SIGINT);
    raise(SIGINT);
  };
  EXPECT_EXIT(interrupt_twice(), testing::ExitedWithCode(130), "stopping");
}

TEST(StopSignals, TheHandlersFromBeforeComeBack) {
  { StopSignals signals(StopSignals::saving); }
  EXPECT_EXIT(raise(SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignals, AClosedPipeIsNoSignal) {
  StopSignals signals(StopSignals::saving);
  raise(SIGPIPE);
  EXPECT_FALSE(signals.flag()->load());
}

}  // namespace
}  // namespace spire::tool
