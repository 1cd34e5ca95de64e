// Outcome of an attempt from the exit statuses of its processes.
#include <algorithm>
#include <csignal>
#include <vector>

#include <gtest/gtest.h>

#include "tools/process/attempt.h"

namespace spire {
namespace {

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
