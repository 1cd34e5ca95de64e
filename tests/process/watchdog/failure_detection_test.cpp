#include "engine/process/watchdog/failure_detection.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/process/watchdog/failures.h"

namespace spire {
namespace {

RankView rank_1(std::vector<PhaseRow> rows = {}) {
  RankView view;
  view.rank = 1;
  view.name = "rank 1 (host b, pid 77)";
  view.rows = std::move(rows);
  return view;
}

TEST(Stall, OfEachWorkingPhaseIsFoundBeyondItsLimitAndNotBefore) {
  struct Case {
    Phase phase;
    double limit;
    std::string place, name;
  };
  for (const Case& c :
       std::vector<Case>{{Phase::start, 30, "start", "timeouts.start: 30 s"},
                         {Phase::data, 10, "data", "timeouts.step: 10 s"},
                         {Phase::forward, 10, "forward", "timeouts.step: 10 s"},
                         {Phase::backward, 10, "backward", "timeouts.step: 10 s"},
                         {Phase::bucket, 10, "bucket 4", "timeouts.step: 10 s"},
                         {Phase::update, 10, "update", "timeouts.step: 10 s"},
                         {Phase::eval, 10, "eval", "timeouts.step: 10 s"},
                         {Phase::checkpoint, 60, "checkpoint", "timeouts.checkpoint: 60 s"}}) {
    EXPECT_FALSE(find_stall(rank_1({{"cpu:0", c.phase, 4, 37, c.limit}}), test_limits, 0));
    auto stall = find_stall(rank_1({{"cpu:0", c.phase, 4, 37, c.limit + 0.1}}), test_limits, 0);
    ASSERT_TRUE(stall);
    EXPECT_EQ(
        stall->text,
        fmt::format("rank 1 (host b, pid 77), cpu:0: no progress in {} of step 37 for {:.1f} s "
                    "({})",
                    c.place, c.limit + 0.1, c.name));
    EXPECT_EQ(stall->rank, 1);
    EXPECT_EQ(stall->category, Category::collective);
    EXPECT_FALSE(stall->consequence);
  }
}

TEST(Stall, OfAGpuPointsToThePageAboutIt) {
  for (auto [thread, phase, place] : std::vector<std::tuple<std::string, Phase, std::string>>{
           {"main", Phase::setup, "device setup"},
           {"cuda:1", Phase::device, "device"},
           {"cuda:1", Phase::backward, "backward"}}) {
    auto stall = find_stall(rank_1({{thread, phase, 0, 0, 11}}), test_limits, 0);
    ASSERT_TRUE(stall);
    EXPECT_EQ(stall->text, fmt::format("rank 1 (host b, pid 77), {}: no progress in {} for 11.0 s "
                                       "(timeouts.step: 10 s); docs/gpu_hangs.md says what to do",
                                       thread, place));
  }
}

TEST(Stall, WaitingAndIdleThreadsAreNeverTheCause) {
  for (Phase phase : {Phase::waiting, Phase::idle}) {
    EXPECT_FALSE(find_stall(rank_1({{"cpu:0", phase, 0, 37, 1e9}}), test_limits, 0));
    EXPECT_TRUE(std::isinf(limit_of(phase, test_limits).seconds));
  }
}

TEST(Stall, NamesTheRowThatHangsLongest) {
  auto stall = find_stall(rank_1({{"cpu:0", Phase::backward, 0, 37, 11},
                                  {"cpu:1", Phase::data, 0, 37, 12},
                                  {"cpu:2", Phase::waiting, 0, 37, 99}}),
                          test_limits, 0);
  ASSERT_TRUE(stall);
  EXPECT_NE(stall->text.find("cpu:1: no progress in data of step 37"), std::string::npos)
      << stall->text;
}

TEST(Silence, CountsFromTheLastMessageOrTheLimitsWhicheverIsLater) {
  RankView peer =
      rank_1({{"cpu:0", Phase::backward, 0, 37, 1}, {"cpu:1", Phase::waiting, 0, 37, 1}});
  peer.last_heard = 100;
  EXPECT_FALSE(find_silence(peer, test_limits, 0, 110));
  EXPECT_FALSE(find_silence(peer, test_limits, 105, 114));
  auto silence = find_silence(peer, test_limits, 0, 110.04);
  ASSERT_TRUE(silence);
  EXPECT_EQ(
      silence->text,
      "rank 1 (host b, pid 77) has sent no sign of life for 10.0 s: it is stopped, or its host "
      "cannot reach rank 0's host; last seen at step 37: cpu:0 in backward, cpu:1 waiting");
  EXPECT_EQ(silence->rank, 1);
  EXPECT_FALSE(silence->consequence);
}

TEST(Silence, HasTheLimitOfThePhaseLastSeen) {
  auto limit_is = [](const std::vector<PhaseRow>& rows, double limit) {
    EXPECT_FALSE(find_silence(rank_1(rows), test_limits, 0, limit));
    EXPECT_TRUE(find_silence(rank_1(rows), test_limits, 0, limit + 0.01));
  };
  limit_is({}, 30);  // not yet at work
  limit_is({{"cpu:0", Phase::start, 0, 0, 1}}, 30);
  limit_is({{"cpu:0", Phase::forward, 0, 1, 1}}, 10);
  limit_is({{"cpu:0", Phase::waiting, 0, 1, 1}, {"io", Phase::checkpoint, 0, 1, 1}}, 60);
}

TEST(Silence, HasALimitOfItsOwnWhateverThePhase) {
  TimeoutConfig limits{.silence = 45};
  for (Phase phase : {Phase::start, Phase::backward, Phase::checkpoint}) {
    RankView peer = rank_1({{"cpu:0", phase, 0, 1, 1}});
    EXPECT_FALSE(find_silence(peer, limits, 0, 45));
    EXPECT_TRUE(find_silence(peer, limits, 0, 45.01));
  }
}

TEST(Silence, IsNeverLessThanSomeHeartbeats) {
  RankView slow = rank_1({{"cpu:0", Phase::forward, 0, 1, 1}});
  slow.period = 3;
  EXPECT_FALSE(find_silence(slow, test_limits, 0, 15));
  EXPECT_TRUE(find_silence(slow, test_limits, 0, 15.1));
}

TEST(Silence, OfALostRankIsNotReported) {
  RankView dead = rank_1();
  dead.lost = true;
  EXPECT_FALSE(find_silence(dead, test_limits, 0, 1e6));
}

TEST(Death, SaysWhereTheRankWasLastSeen) {
  EXPECT_EQ(death_of(rank_1(),
                     "ended without an error message, so it was probably killed (see its log, or "
                     "dmesg on its host)")
                .text,
            "rank 1 (host b, pid 77) ended without an error message, so it was probably killed "
            "(see its log, or dmesg on its host)");
  EXPECT_EQ(death_of(rank_1({{"cpu:0", Phase::bucket, 2, 37, 1}}), "ended").text,
            "rank 1 (host b, pid 77) ended; last seen at step 37: cpu:0 in bucket 2");
}

TEST(Deadlock, NeedsARankThatWaitsAndNoneThatWorks) {
  RankView zero = rank_1({{"cpu:0", Phase::waiting, 0, 37, 13}});
  RankView one = rank_1({{"cpu:0", Phase::idle, 0, 37, 12.5}, {"io", Phase::waiting, 0, 37, 14}});
  auto deadlock = find_deadlock(std::vector{zero, one}, test_limits, 2);
  ASSERT_TRUE(deadlock);
  EXPECT_EQ(deadlock->text,
            "all ranks wait for each other in step 37 for 12.5 s (timeouts.step: 10 s)");
  EXPECT_FALSE(find_deadlock(std::vector{zero, one}, test_limits, 2.5)) << "the slack counts";

  zero.rows[0].detail = 4, one.rows[1].detail = 3;
  EXPECT_EQ(find_deadlock(std::vector{zero, one}, test_limits, 2)->text,
            "all ranks wait for each other in step 37 for 12.5 s (timeouts.step: 10 s); rank 1 "
            "(host b, pid 77), io: waiting for bucket 2 in step 37")
      << "the earliest bucket is named";
  one.rows[1].step = 38;
  EXPECT_NE(find_deadlock(std::vector{zero, one}, test_limits, 2)->text.find("bucket 3 in step 37"),
            std::string::npos)
      << "of the earliest step";
  one.rows[1].step = 37;
  zero.rows[0].detail = one.rows[1].detail = 0;

  one.rows[0].step = one.rows[1].step = 38;
  EXPECT_NE(find_deadlock(std::vector{zero, one}, test_limits, 2)->text.find("steps 37 to 38"),
            std::string::npos);

  one.rows[0].phase = Phase::update;
  EXPECT_FALSE(find_deadlock(std::vector{zero, one}, test_limits, 2)) << "one works";
  one.rows.clear();
  EXPECT_FALSE(find_deadlock(std::vector{zero, one}, test_limits, 2)) << "one is not known";
  one.done = true;
  EXPECT_TRUE(find_deadlock(std::vector{zero, one}, test_limits, 2)) << "waiting for one that left";
  zero.rows[0].phase = Phase::idle;
  EXPECT_FALSE(find_deadlock(std::vector{zero, one}, test_limits, 2)) << "between two runs";
}

TEST(Table, HasALineForEachThreadThatIsNotIdle) {
  RankView one = rank_1({{"cpu:0", Phase::backward, 0, 37, 10.25}, {"io", Phase::idle, 0, 37, 1}});
  one.seen = 5;
  RankView two;
  two.name = "rank 2 (host b, pid 78)";
  RankView three = two;
  three.name = "rank 3 (host b, pid 79)";
  three.done = true;
  EXPECT_EQ(table_text(std::vector{one, two, three}, 6),
            "rank 1 (host b, pid 77)  cpu:0  backward of step 37  for 11.2 s\n"
            "rank 2 (host b, pid 78)  phases unknown\n"
            "rank 3 (host b, pid 79)  done");
  one.rows[0].phase = Phase::idle;
  EXPECT_EQ(table_text(std::vector{one}, 6),
            "rank 1 (host b, pid 77)  cpu:0  idle in step 37  for 11.2 s\n"
            "rank 1 (host b, pid 77)  io  idle in step 37  for 2.0 s");
}

TEST(Period, IsAFifthOfTheSmallestLimitWithinBounds) {
  EXPECT_EQ(heartbeat_period({}), 1);
  EXPECT_EQ(heartbeat_period({.step = 2}), 0.4);
  EXPECT_EQ(heartbeat_period({.start = 0.001, .step = 2}), 0.02);
}

}  // namespace
}  // namespace spire
