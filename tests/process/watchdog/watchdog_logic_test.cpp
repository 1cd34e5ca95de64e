#include "engine/process/watchdog/watchdog_logic.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "tests/process/watchdog/failures.h"

namespace spire {
namespace {

using Kind = ControlMessage::Kind;
using ::testing::HasSubstr;

// A run of several WatchdogLogics, with messages that arrive at once and a simulated clock.
class VirtualRun {
 public:
  VirtualRun(int ranks, const TimeoutConfig& limits) {
    for (int rank = 0; rank < ranks; ++rank) nodes_.push_back(node(rank, ranks));
    for (Node& node : nodes_) node.logic->set_limits(limits, 0);
  }

  WatchdogLogic& logic(int rank) { return *nodes_[at(rank)].logic; }
  double now() const { return now_; }

  // Thread cpu:0 of the rank enters a phase.
  void enter(int rank, Phase phase, int64_t step, int64_t detail = 0) {
    nodes_[at(rank)].row = {"cpu:0", phase, detail, step, 0};
    nodes_[at(rank)].entered = now_;
  }
  void all_enter(Phase phase, int64_t step) {
    for (size_t rank = 0; rank < nodes_.size(); ++rank) enter(static_cast<int>(rank), phase, step);
  }
  void unwatch(int rank) { nodes_[at(rank)].row.thread.clear(); }

  // As by SIGSTOP and SIGCONT, by kill -9, and by a pulled cable.
  void stop(int rank) { nodes_[at(rank)].stopped = true; }
  void wake(int rank) { nodes_[at(rank)].stopped = false; }
  void kill(int rank) {
    stop(rank);
    for (Node& node : nodes_) {
      if (&node == &nodes_[at(rank)] || (rank != 0 && &node != &nodes_[0])) continue;
      deliver(node);
      node.logic->lost(rank,
                       "ended without an error message, so it was probably killed (see its log, or "
                       "dmesg on its host)",
                       now_);
    }
  }
  void cut(int rank) { nodes_[at(rank)].cut = true; }

  void go(double seconds) {
    for (double end = now_ + seconds; now_ < end; now_ += 0.05) turn();
  }
  // Returns the seconds until the rank knows of a failure.
  double until_failure(int rank, double most = 100) {
    double begin = now_;
    while (!logic(rank).run_failure() && now_ - begin < most) go(0.05);
    return now_ - begin;
  }
  const Failure& run_failure(int rank) {
    static const Failure none = named(-1, "no failure");
    return logic(rank).run_failure() ? *logic(rank).run_failure() : none;
  }

 private:
  struct Node {
    int rank = 0;
    std::unique_ptr<WatchdogLogic> logic;
    PhaseRow row;  // no name: no status
    double entered = 0;
    bool stopped = false, cut = false;
    std::deque<std::pair<int, ControlMessage>> inbox;
  };

  size_t at(int rank) const { return static_cast<size_t>(rank); }

  Node node(int rank, int ranks) {
    std::vector<RankView> peers;
    for (int peer = 0; peer < (rank == 0 ? ranks : 1); ++peer) {
      if (peer == rank) continue;
      RankView view;
      view.rank = peer;
      view.name = name_of(peer);
      peers.push_back(view);
    }
    auto send = [this, rank](int to, const ControlMessage& message) {
      if (!nodes_[at(rank)].cut && !nodes_[at(to)].cut)
        nodes_[at(to)].inbox.emplace_back(rank, message);
    };
    Node result;
    result.rank = rank;
    result.logic = std::make_unique<WatchdogLogic>(rank, name_of(rank), peers, send);
    return result;
  }

  void deliver(Node& node) {
    for (; !node.inbox.empty(); node.inbox.pop_front())
      node.logic->receive(node.inbox.front().first, node.inbox.front().second, now_);
  }

  void turn() {
    for (Node& node : nodes_) {
      if (node.stopped) continue;
      deliver(node);
      std::vector<PhaseRow> rows;
      if (!node.row.thread.empty()) rows.push_back(node.row);
      for (PhaseRow& row : rows) row.seconds = now_ - node.entered;
      node.logic->turn(rows, now_);
    }
  }

  std::vector<Node> nodes_;
  double now_ = 0;
};

TEST(WatchdogLogic, ARunThatMakesProgressNeverFails) {
  VirtualRun run(3, test_limits);
  for (int step = 0; step < 100; ++step) {
    run.all_enter(step % 2 ? Phase::forward : Phase::waiting, step);
    run.go(3);
  }
  for (int rank = 0; rank < 3; ++rank) EXPECT_FALSE(run.logic(rank).run_failure()) << rank;
}

TEST(WatchdogLogic, AStallIsNamedAlikeOnEveryRankInTime) {
  for (int culprit = 0; culprit < 3; ++culprit) {
    VirtualRun run(3, test_limits);
    run.all_enter(Phase::waiting, 37);
    run.go(2);
    run.enter(culprit, Phase::backward, 37);
    double seconds = run.until_failure(0);
    EXPECT_GE(seconds, 10);
    EXPECT_LE(seconds, 10.3);
    run.go(0.2);
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_THAT(run.run_failure(rank).text,
                  HasSubstr(name_of(culprit) + ", cpu:0: no progress in "
                                               "backward of step 37 for 10."));
      EXPECT_EQ(run.run_failure(rank).rank, culprit);
      EXPECT_EQ(run.run_failure(rank).table, run.run_failure(0).table);
      EXPECT_TRUE(run.logic(rank).settled(run.now()));
    }
    EXPECT_THAT(run.run_failure(0).table,
                HasSubstr(name_of((culprit + 1) % 3) + "  cpu:0  waiting in step 37  for 12."));
  }
}

TEST(WatchdogLogic, TheLimitsCountFromWhenTheyAreSet) {
  VirtualRun run(1, test_limits);
  run.enter(0, Phase::forward, 1);
  run.go(8);
  run.logic(0).set_limits(test_limits, run.now());
  EXPECT_GE(run.until_failure(0), 10);
}

TEST(WatchdogLogic, ADeadRankIsNamedWithItsLastPosition) {
  VirtualRun run(3, test_limits);
  run.all_enter(Phase::waiting, 37);
  run.enter(2, Phase::forward, 37);
  run.go(2);
  run.kill(2);
  run.go(0.2);
  for (int rank : {0, 1}) {
    EXPECT_EQ(run.run_failure(rank).text,
              name_of(2) +
                  " ended without an error message, so it was probably killed (see its log, or "
                  "dmesg on its host); last seen at step 37: cpu:0 in forward");
    EXPECT_EQ(run.run_failure(rank).rank, 2);
  }
}

TEST(WatchdogLogic, WithoutRankZeroTheOthersDecideForThemselves) {
  VirtualRun run(3, test_limits);
  run.all_enter(Phase::waiting, 37);
  run.enter(2, Phase::forward, 37);
  run.go(2);
  run.kill(0);
  run.go(0.2);
  for (int rank : {1, 2})
    EXPECT_THAT(run.run_failure(rank).text,
                HasSubstr(name_of(0) + " ended without an error message, so it was probably killed "
                                       "(see its log, or dmesg on its host)"));
  EXPECT_THAT(run.run_failure(2).text,
              HasSubstr("; " + name_of(2) + " was at step 37: cpu:0 in forward"));
  EXPECT_THAT(run.run_failure(2).table, HasSubstr(name_of(2) + "  cpu:0  forward of step 37"));
}

// The stopped rank receives the decision when it wakes up, and does not blame others for the
// silence.
TEST(WatchdogLogic, AStoppedRankIsNamedAndEndsWhenItWakes) {
  VirtualRun run(3, test_limits);
  run.all_enter(Phase::waiting, 37);
  run.go(2);
  run.stop(1);
  double seconds = run.until_failure(0);
  EXPECT_GE(seconds, 9);  // from its last heartbeat
  EXPECT_LE(seconds, 10.3);
  EXPECT_THAT(run.run_failure(0).text, HasSubstr(name_of(1) + " has sent no sign of life for 10."));
  EXPECT_THAT(run.run_failure(0).text, HasSubstr("last seen at step 37: cpu:0 waiting"));
  EXPECT_FALSE(run.logic(0).settled(run.now())) << "it has not acknowledged";
  run.go(1.1);
  EXPECT_TRUE(run.logic(0).settled(run.now())) << "it had its time to";
  run.wake(1);
  run.go(0.1);
  EXPECT_EQ(run.run_failure(1).text, run.run_failure(0).text);
}

TEST(WatchdogLogic, AStoppedRankZeroEndsWithTheOthersFailure) {
  VirtualRun run(3, test_limits);
  run.all_enter(Phase::waiting, 37);
  run.go(2);
  run.stop(0);
  EXPECT_LE(run.until_failure(1), 10.3);
  EXPECT_LE(run.until_failure(2), 1);
  for (int rank : {1, 2})
    EXPECT_THAT(run.run_failure(rank).text,
                HasSubstr(name_of(0) + " has sent no sign of life for 10."));
  run.go(5);
  run.wake(0);
  run.go(0.1);
  EXPECT_THAT(run.run_failure(0).text, HasSubstr(name_of(0) + " has sent no sign of life for 10."));
}

TEST(WatchdogLogic, AStoppedSingleProcessGoesOn) {
  VirtualRun run(1, test_limits);
  run.enter(0, Phase::forward, 1);
  run.go(5);
  run.stop(0);
  run.go(1000);
  run.wake(0);
  run.go(5);
  EXPECT_FALSE(run.logic(0).run_failure());
  EXPECT_LE(run.until_failure(0), 5.3);
}

TEST(WatchdogLogic, ACutLinkEndsBothSides) {
  VirtualRun run(3, test_limits);
  run.all_enter(Phase::waiting, 37);
  run.go(2);
  run.cut(2);
  EXPECT_LE(run.until_failure(0), 10.3);
  EXPECT_LE(run.until_failure(2), 1);
  EXPECT_THAT(run.run_failure(0).text, HasSubstr(name_of(2) + " has sent no sign of life"));
  EXPECT_THAT(run.run_failure(2).text, HasSubstr(name_of(0) + " has sent no sign of life"));
  run.go(0.1);
  EXPECT_EQ(run.run_failure(1).text, run.run_failure(0).text);
}

TEST(WatchdogLogic, ARankThatIsNotYetAtWorkHasTheLimitOfTheStart) {
  VirtualRun run(2, test_limits);
  run.go(2);
  run.stop(1);
  double seconds = run.until_failure(0);
  EXPECT_GE(seconds, 29);
  EXPECT_LE(seconds, 30.3);
}

TEST(WatchdogLogic, TheCauseIsNamedThoughItsConsequencesComeFirst) {
  VirtualRun run(4, test_limits);
  run.all_enter(Phase::waiting, 37);
  run.go(1);
  run.logic(1).report(named(1, "rank 1 lost rank 3", true), run.now());
  run.go(0.5);
  run.logic(0).report(named(0, "rank 0 lost rank 3", true), run.now());
  EXPECT_FALSE(run.logic(0).run_failure());
  run.logic(3).report(named(3, "rank 3: bad file"), run.now());
  run.go(0.2);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(run.run_failure(rank).text, "rank 3: bad file");
    EXPECT_EQ(run.run_failure(rank).category, Category::data);
    EXPECT_EQ(run.run_failure(rank).rank, 3);
  }
}

TEST(WatchdogLogic, LaterFailuresDoNotReplaceTheFirst) {
  VirtualRun run(3, test_limits);
  run.all_enter(Phase::waiting, 37);
  run.go(1);
  run.logic(2).report(named(2, "rank 2: bad file"), run.now());
  run.go(0.1);
  run.logic(1).report(named(1, "rank 1: another bad file"), run.now());
  run.logic(0).report(named(0, "rank 0 lost rank 2", true), run.now());
  run.kill(2);
  run.go(3);
  for (int rank : {0, 1}) EXPECT_EQ(run.run_failure(rank).text, "rank 2: bad file");
}

TEST(WatchdogLogic, AConsequenceAloneIsNamedAfterASecond) {
  VirtualRun run(3, test_limits);
  run.go(1);
  run.logic(1).report(named(1, "rank 1 lost rank 2", true), run.now());
  run.logic(2).report(named(2, "rank 2 lost rank 1", true), run.now());
  double seconds = run.until_failure(2);
  EXPECT_GE(seconds, 1.9);  // two periods of a second
  EXPECT_LE(seconds, 2.2);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(run.run_failure(rank).text, "rank 1 lost rank 2");
}

// A rank that has reported and then ends is not the cause.
TEST(WatchdogLogic, TheEndOfARankThatReportedAConsequenceIsNoCause) {
  VirtualRun run(3, test_limits);
  run.go(1);
  run.logic(1).report(named(1, "rank 1 lost rank 2", true), run.now());
  run.go(0.1);
  run.kill(1);
  run.go(0.1);
  run.kill(2);
  run.go(0.1);
  EXPECT_THAT(run.run_failure(0).text, HasSubstr(name_of(2) + " ended without an error message"));
}

TEST(WatchdogLogic, ARankThatRankZeroDoesNotAnswerSettlesWithItsOwnFailure) {
  VirtualRun run(2, test_limits);
  run.go(1);
  run.stop(0);
  run.logic(1).report(named(1, "rank 1: bad file"), run.now());
  double seconds = run.until_failure(1);
  EXPECT_GE(seconds, 4.9);
  EXPECT_LE(seconds, 5.2);
  EXPECT_EQ(run.run_failure(1).text, "rank 1: bad file");
  run.wake(0);
  run.go(0.2);
  EXPECT_EQ(run.run_failure(0).text, "rank 1: bad file");
}

TEST(WatchdogLogic, ADeadlockEndsTheRun) {
  VirtualRun run(3, test_limits);
  run.all_enter(Phase::waiting, 37);
  run.enter(1, Phase::idle, 37);
  double seconds = run.until_failure(0);
  EXPECT_GE(seconds, 12);
  EXPECT_LE(seconds, 13.3);  // a heartbeat late
  EXPECT_THAT(run.run_failure(0).text,
              HasSubstr("all ranks wait for each other in step 37 for 12."));
  EXPECT_THAT(run.run_failure(0).table, HasSubstr(name_of(1) + "  cpu:0  idle in step 37"));
}

TEST(WatchdogLogic, IdleRanksDoNotFail) {
  VirtualRun run(2, test_limits);
  run.all_enter(Phase::idle, 37);
  run.go(100);
  EXPECT_FALSE(run.logic(0).run_failure());
}

TEST(WatchdogLogic, AllLeaveTogether) {
  VirtualRun run(3, test_limits);
  run.logic(1).leave();
  run.logic(0).leave();
  run.unwatch(0);
  run.go(5);
  for (int rank = 0; rank < 3; ++rank) EXPECT_FALSE(run.logic(rank).all_done()) << rank;
  run.logic(2).leave();
  run.go(0.2);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(run.logic(rank).all_done()) << rank;
    EXPECT_TRUE(run.logic(rank).settled(run.now())) << rank;
  }
  run.kill(0);
  run.go(100);
  for (int rank : {1, 2})
    EXPECT_FALSE(run.logic(rank).run_failure()) << "no rank counts as lost any more";
}

TEST(WatchdogLogic, TheEndOfARankThatIsDoneIsNoFailure) {
  VirtualRun run(3, test_limits);
  run.all_enter(Phase::idle, 50);
  run.logic(1).leave();
  run.go(1);
  run.kill(1);
  run.go(20);
  EXPECT_FALSE(run.logic(0).run_failure());
  run.logic(0).leave();
  run.logic(2).leave();
  run.go(0.2);
  EXPECT_TRUE(run.logic(0).all_done());
  EXPECT_TRUE(run.logic(2).all_done());
}

TEST(WatchdogLogic, LeavingEndsWhenARankFailsOrIsSilent) {
  VirtualRun failing(3, test_limits);
  failing.logic(0).leave();
  failing.logic(1).leave();
  failing.go(1);
  failing.kill(2);
  failing.go(0.2);
  for (int rank : {0, 1}) EXPECT_EQ(failing.run_failure(rank).rank, 2);

  VirtualRun silent(2, test_limits);
  silent.all_enter(Phase::idle, 50);
  silent.go(1);
  silent.logic(1).leave();
  silent.stop(0);
  EXPECT_LE(silent.until_failure(1), 10.3);
}

TEST(WatchdogLogic, OneProcessDecidesAtOnceAndLeavesAtOnce) {
  VirtualRun failing(1, test_limits);
  failing.logic(0).report(named(0, "lost a lane", true), 0);
  failing.go(0.01);
  EXPECT_EQ(failing.run_failure(0).text, "lost a lane");
  EXPECT_TRUE(failing.logic(0).settled(failing.now()));

  VirtualRun leaving(1, test_limits);
  leaving.logic(0).leave();
  leaving.go(0.01);
  EXPECT_TRUE(leaving.logic(0).all_done());
}

TEST(WatchdogLogic, MessagesInTheWrongDirectionChangeNothing) {
  VirtualRun run(2, test_limits);
  ControlMessage message;
  message.failure = named(1, "not its business");
  for (Kind kind : {Kind::abort, Kind::all_done}) {
    message.kind = kind;
    run.logic(0).receive(1, message, 0);
  }
  for (Kind kind : {Kind::failure, Kind::done, Kind::ack}) {
    message.kind = kind;
    run.logic(1).receive(0, message, 0);
  }
  run.go(9);
  for (int rank : {0, 1}) {
    EXPECT_FALSE(run.logic(rank).run_failure());
    EXPECT_FALSE(run.logic(rank).all_done());
  }
}

TEST(WatchdogLogic, TheLinksFormAStarAroundRankZero) {
  RankView peer;
  peer.rank = 2;
  EXPECT_THROW(WatchdogLogic(1, name_of(1), {peer}, {}), Error);
  EXPECT_THROW(WatchdogLogic(2, name_of(2), {peer}, {}), Error);
  EXPECT_NO_THROW(WatchdogLogic(0, name_of(0), {peer}, {}));
}

// A time that never moves on would make the watchdog's thread spin.
TEST(WatchdogLogic, ItsNextTurnIsDueLaterThanTheOneBefore) {
  VirtualRun run(2, test_limits);
  for (int i = 0; i < 300; ++i) {
    run.go(0.05);
    EXPECT_GT(run.logic(0).wake_at(run.now()), run.now() - 0.05);
    if (i == 100) run.logic(1).report(named(1, "rank 1 lost rank 0", true), run.now());
    if (i == 101) run.stop(1);  // it never acknowledges the decision
  }
  EXPECT_TRUE(run.logic(0).run_failure());
}

}  // namespace
}  // namespace spire
