#include "engine/process/watchdog/thread_status.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "engine/base/fail.h"

namespace spire {
namespace {

TEST(ThreadStatus, RowsSayWhatTheirThreadsEntered) {
  ThreadStatus status({"cpu:0", "cpu:1 lane 3"});
  EXPECT_EQ(status.size(), 2);
  EXPECT_EQ(status.read(0).phase, Phase::idle);
  EXPECT_EQ(status.read(0).step, 0);

  status.begin_step(37);
  status.enter(1, Phase::bucket, 5);
  auto rows = status.read();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].thread, "cpu:0");
  EXPECT_EQ(rows[0].phase, Phase::idle);
  EXPECT_EQ(rows[1].thread, "cpu:1 lane 3");
  EXPECT_EQ(rows[1].phase, Phase::bucket);
  EXPECT_EQ(rows[1].detail, 5);
  EXPECT_EQ(rows[1].step, 37);
}

TEST(ThreadStatus, DetailsKeepTheirValueAndSign) {
  ThreadStatus status({"cpu:0"});
  for (int64_t detail : {int64_t{0}, int64_t{-1}, (int64_t{1} << 55) - 1, -(int64_t{1} << 55)}) {
    status.enter(0, Phase::eval, detail);
    EXPECT_EQ(status.read(0).detail, detail);
    EXPECT_EQ(status.read(0).phase, Phase::eval);
  }
}

TEST(ThreadStatus, AWaitEndsInThePhaseItInterrupted) {
  ThreadStatus status({"cpu:0"});
  status.enter(0, Phase::bucket, 3);
  Phase within = Phase::idle;
  status.wait(0, [&] { within = status.read(0).phase; });
  EXPECT_EQ(within, Phase::waiting);
  EXPECT_EQ(status.read(0).phase, Phase::bucket);
  EXPECT_EQ(status.read(0).detail, 3);
  EXPECT_THROW(status.wait(0, [] { fail(Category::collective, "a peer is lost"); }), Error);
  EXPECT_EQ(status.read(0).phase, Phase::bucket);
}

TEST(ThreadStatus, PositionsAreWords) {
  ThreadStatus status({"cpu:0"});
  status.enter(0, Phase::start);
  EXPECT_EQ(position_text(status.read(0)), "start");
  status.begin_step(7);
  status.enter(0, Phase::bucket, 3);
  EXPECT_EQ(position_text(status.read(0)), "bucket 3 of step 7");
  status.enter(0, Phase::waiting);
  EXPECT_EQ(position_text(status.read(0)), "waiting in step 7");
}

TEST(LaneError, SaysWhereAndKeepsACategoryOfItsOwn) {
  ThreadStatus status({"cpu:1"});
  status.begin_step(7);
  status.enter(0, Phase::backward);
  LaneError lost(status.read(0), std::runtime_error("no power"));
  EXPECT_STREQ(lost.what(), "cpu:1, backward of step 7: no power");
  EXPECT_EQ(lost.category(), Category::collective);
  EXPECT_EQ(LaneError(status.read(0), Error(Category::data, "x")).category(), Category::data);
  EXPECT_EQ(LaneError(status.read(0), Error(Category::unexpected, "x")).category(),
            Category::collective);
}

TEST(ThreadStatus, PhasesHaveNames) {
  const std::pair<Phase, const char*> names[] = {{Phase::idle, "idle"},
                                                 {Phase::waiting, "waiting"},
                                                 {Phase::start, "start"},
                                                 {Phase::data, "data"},
                                                 {Phase::forward, "forward"},
                                                 {Phase::backward, "backward"},
                                                 {Phase::bucket, "bucket 3"},
                                                 {Phase::update, "update"},
                                                 {Phase::eval, "eval"},
                                                 {Phase::device, "device"},
                                                 {Phase::checkpoint, "checkpoint"},
                                                 {Phase::setup, "device setup"}};
  for (const auto& [phase, name] : names)
    EXPECT_EQ(phase_text(phase, phase == Phase::waiting ? 0 : 3), name);
  EXPECT_EQ(phase_text(Phase::waiting, 4), "waiting for bucket 3");
}

TEST(ThreadStatus, EnteringStartsTheTimeAnew) {
  ThreadStatus status({"cpu:0"});
  while (status.read(0).seconds < 0.01) std::this_thread::yield();
  auto before = std::chrono::steady_clock::now();
  status.enter(0, Phase::data);
  double seconds = status.read(0).seconds;
  std::chrono::duration<double> most = std::chrono::steady_clock::now() - before;
  EXPECT_GE(seconds, 0);
  EXPECT_LE(seconds, most.count());
}

// Long waits before short phases: a reader must not count the wait as time of the phase.
TEST(ThreadStatus, APhaseIsNeverReadWithTheAgeOfTheOneBefore) {
  using Clock = std::chrono::steady_clock;
  ThreadStatus status({"cpu:0"});
  auto spend = [&](double seconds) {
    while (status.read(0).seconds < seconds) std::this_thread::yield();
  };
  std::atomic<Clock::time_point> not_before{Clock::now()};  // the latest forward began
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int round = 0; round < 20; ++round) {
      status.enter(0, Phase::waiting);
      spend(0.002);
      not_before = Clock::now();
      status.enter(0, Phase::forward);
      spend(0.0002);
    }
    done = true;
  });
  while (!done) {
    Clock::time_point began = not_before;
    PhaseRow row = status.read(0);
    std::chrono::duration<double> most = Clock::now() - began;
    if (row.phase == Phase::forward) {
      EXPECT_LE(row.seconds, most.count());
    }
  }
  writer.join();
}

TEST(ThreadStatus, TheHookSeesEachEntryAndItsExceptionComesOut) {
  ThreadStatus status({"cpu:0", "cpu:1"});
  std::vector<std::string> seen;
  status.set_hook([&](const PhaseRow& row) {
    seen.push_back(row.thread + " " + phase_text(row.phase, row.detail));
    if (row.phase == Phase::backward) throw std::runtime_error("as asked");
  });
  status.enter(1, Phase::forward);
  EXPECT_THROW(status.enter(0, Phase::backward), std::runtime_error);
  EXPECT_EQ(seen, (std::vector<std::string>{"cpu:1 forward", "cpu:0 backward"}));
  EXPECT_EQ(status.read(0).phase, Phase::backward) << "a failure happens in the phase entered";
}

TEST(ThreadStatus, RefusesARowThatIsNotThere) {
  ThreadStatus status({"cpu:0"});
  EXPECT_THROW(status.read(1), Error);
  EXPECT_THROW(status.read(-1), Error);
}

}  // namespace
}  // namespace spire
