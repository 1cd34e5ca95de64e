// Every phase, every rank of three, every way to fail: the run ends as a whole, in time, and names
// the rank, the device and the phase.
#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "tests/run/program/faults/faulty_ranks.h"

namespace spire {
namespace {

// Where a phase is met in a run of 20 steps with 13 an epoch, and a checkpoint each 4.
struct Place {
  std::string phase;
  int64_t step;
  friend std::ostream& operator<<(std::ostream& out, const Place& p) { return out << p.phase; }
};

class FaultInPhase : public testing::TestWithParam<Place> {
 protected:
  // 12 towers of 2 samples. The wide layer has enough chunks for every rank to update some.
  Start start(int rank, const std::string& kind) const {
    Start start;
    start.ranks = 3;
    start.fault = {.rank = rank, .phase = GetParam().phase, .kind = kind, .step = GetParam().step};
    start.words = folder_.run(
        fmt::format("{}_{}", kind, rank),
        Words{"model.name=mlp", "model.hidden=[256]", "optimizer.lr=0.05", "towers=12",
              "batch_size=2", "steps=20", "strategy=sharded", "checkpoint.every_steps=4"});
    // Whoever does not hang must never be slow enough to be named.
    bool hangs = kind == "stall" || kind == "stop";
    start.words = start.words + limits(hangs ? step_limit : 100);
    return start;
  }

  // All three at a time: those that hang do nothing but wait.
  void expect_each_rank_named(const std::string& kind) {
    std::vector<std::unique_ptr<Ranks>> runs;
    for (int rank = 0; rank < 3; ++rank) runs.push_back(std::make_unique<Ranks>(start(rank, kind)));
    for (int rank = 0; rank < 3; ++rank) {
      SCOPED_TRACE(start(rank, kind).fault.text());
      auto outputs = runs[static_cast<size_t>(rank)]->finish(kind == "stop" ? rank : -1);
      expect_failed_as_a_whole(start(rank, kind), outputs);
    }
  }

  RunFolder folder_;
};

TEST_P(FaultInPhase, Throw) {
  expect_each_rank_named("throw");
}

TEST_P(FaultInPhase, Kill) {
  expect_each_rank_named("kill");
}

TEST_P(FaultInPhase, Stall) {
  expect_each_rank_named("stall");
}

INSTANTIATE_TEST_SUITE_P(Ranks, FaultInPhase,
                         testing::Values(Place{"start", 0}, Place{"data", 7}, Place{"forward", 7},
                                         Place{"backward", 7}, Place{"bucket", 7},
                                         Place{"update", 7}, Place{"eval", 13},
                                         Place{"checkpoint", 8}),
                         [](const auto& test) { return test.param.phase; });

class StopInPhase : public FaultInPhase {};

TEST_P(StopInPhase, IsNoticedBySilence) {
  expect_each_rank_named("stop");
}

INSTANTIATE_TEST_SUITE_P(Ranks, StopInPhase,
                         testing::Values(Place{"start", 0}, Place{"backward", 7},
                                         Place{"checkpoint", 20}),
                         [](const auto& test) { return test.param.phase; });

}  // namespace
}  // namespace spire
