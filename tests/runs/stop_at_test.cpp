// The flag that a signal sets, raised after a chosen step: what no process can be timed to do.
#include <tuple>

#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/train.h>

#include "tests/runs/run_folder.h"

namespace spire {
namespace {

// Keeps the evaluations, and raises the flag once `stop_after` steps are done.
class Watcher : public Observer {
 public:
  explicit Watcher(int64_t stop_after = -1) : stop_after_(stop_after) {}
  void on_step(const StepReport& step) override {
    if (step.step == stop_after_) stop = true;
  }
  void on_eval(const EvalReport& eval) override {
    evaluations.emplace_back(eval.step, eval.loss, eval.metric.value, eval.best);
  }

  std::atomic<bool> stop = false;
  std::vector<std::tuple<int64_t, double, double, bool>> evaluations;

 private:
  int64_t stop_after_;
};

class StopAfter : public testing::TestWithParam<int64_t> {
 protected:
  RunResult run(const std::string& name, Watcher& watcher, std::optional<std::string> resume = {}) {
    RunConfig config;
    config.data.name = "idx";
    config.data.path = folder_ / "data";
    config.output = folder_ / name;
    config.model = {.name = "mlp", .hidden = {16}, .dropout = 0.1};
    config.optimizer.lr = 0.02;
    config.batch_size = 8;
    config.towers = 4;
    config.tower_threads = 1;
    config.devices = {"cpu:0"};
    config.steps = 21;
    RunOptions options;
    options.resume = std::move(resume);
    options.stop = &watcher.stop;
    return train(config, options, watcher);
  }

  RunFolder folder_;
};

TEST_P(StopAfter, NeitherForgetsNorRepeatsAnEvaluation) {
  Watcher straight, stopped(GetParam()), resumed;
  RunSummary expected = run("straight", straight).summary;
  RunResult part = run("parts", stopped);
  EXPECT_EQ(part.exit_code, static_cast<int>(Category::interrupted));
  EXPECT_EQ(part.summary.steps, GetParam());
  RunResult rest = run("parts", resumed, "auto");
  EXPECT_EQ(rest.exit_code, 0);

  auto evaluations = stopped.evaluations;
  evaluations.insert(evaluations.end(), resumed.evaluations.begin(), resumed.evaluations.end());
  EXPECT_EQ(evaluations, straight.evaluations);
  EXPECT_EQ(rest.summary.parameter_hash, expected.parameter_hash);
  EXPECT_EQ(rest.summary.val.loss, expected.val.loss);
  EXPECT_EQ(rest.summary.val.best, expected.val.best);
  EXPECT_EQ(folder_.checkpoints("parts").back(), 21);
  Watcher again;  // a finished run: the same summary, nothing done
  EXPECT_EQ(run("parts", again, "auto").summary.val.loss, expected.val.loss);
  EXPECT_TRUE(again.evaluations.empty());
}

// An epoch has 10 steps; at 10, 20 and 21 the flag comes just before an evaluation.
INSTANTIATE_TEST_SUITE_P(Run, StopAfter, testing::Values(1, 9, 10, 11, 20, 21));

}  // namespace
}  // namespace spire
