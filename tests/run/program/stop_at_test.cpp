// The flag that a signal sets, raised after a chosen step: what no process can be timed to do.
#include <tuple>

#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/train.h>

#include "tests/run/program/recorder.h"

namespace spire {
namespace {

class StopAfter : public testing::TestWithParam<int64_t> {
 protected:
  RunResult run(const std::string& name, Recorder& watcher,
                std::optional<std::string> resume = {}) {
    Words words = test_mlp + Words{"model.dropout=0.1", "steps=21"};
    return train_here(folder_, name, words, watcher, std::move(resume));
  }

  // Step, loss, metric and whether it was the best so far.
  static std::vector<std::tuple<int64_t, double, double, bool>> found(const Recorder& recorder) {
    std::vector<std::tuple<int64_t, double, double, bool>> all;
    for (const EvalReport& eval : recorder.evaluations)
      all.emplace_back(eval.step, eval.loss, eval.metric.value, eval.best);
    return all;
  }

  RunFolder folder_;
};

TEST_P(StopAfter, NeitherForgetsNorRepeatsAnEvaluation) {
  Recorder straight, stopped(GetParam()), resumed;
  RunSummary expected = run("straight", straight).summary;
  RunResult part = run("parts", stopped);
  EXPECT_EQ(part.exit_code, static_cast<int>(Category::interrupted));
  EXPECT_EQ(part.summary.steps, GetParam());
  RunResult rest = run("parts", resumed, "auto");
  EXPECT_EQ(rest.exit_code, 0);

  auto parts = found(stopped), rests = found(resumed);
  parts.insert(parts.end(), rests.begin(), rests.end());
  EXPECT_EQ(parts, found(straight));
  EXPECT_EQ(rest.summary.parameter_hash, expected.parameter_hash);
  EXPECT_EQ(rest.summary.val.loss, expected.val.loss);
  EXPECT_EQ(rest.summary.val.best, expected.val.best);
  EXPECT_EQ(folder_.checkpoints("parts").back(), 21);
  Recorder again;  // a finished run: the same summary, nothing done
  EXPECT_EQ(run("parts", again, "auto").summary.val.loss, expected.val.loss);
  EXPECT_TRUE(again.evaluations.empty());
}

// An epoch has 10 steps; at 10, 20 and 21 the flag comes just before an evaluation.
INSTANTIATE_TEST_SUITE_P(Run, StopAfter, testing::Values(1, 9, 10, 11, 20, 21));

}  // namespace
}  // namespace spire
