// The evaluations of a run on its test data: when one is due, and its effect on the run's progress.
#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>

#include "engine/data/loader.h"
#include "engine/inference/samples.h"
#include "engine/run/early_stop.h"
#include "engine/run/run_checkpoints.h"
#include "engine/run/run_context.h"

namespace spire::inline run {

class Evaluation {
 public:
  // All outlive this.
  Evaluation(RunContext& run, RunCheckpoints& checkpoints, BatchLoader& test_data);

  // Restores the early stop from run.progress.
  void resume();
  // Sample outputs go to this folder, where the task has any.
  void write_samples_to(const std::filesystem::path& folder);
  // The loss of the first training step: later losses are compared with it.
  void set_first_loss(double loss) { first_loss_ = loss; }
  bool knows_first_loss() const;

  // Whether the current step is to be evaluated, and was not yet: the last one, and those at the
  // ends of epochs and intervals.
  bool due() const;
  // Evaluates if it is due and nobody asked to stop. Returns whether the metric is the best so far.
  bool run_if_due() { return due() && !run_.stop_asked() && evaluate(); }
  // Samples of one evaluation; a dry run evaluates only some.
  int64_t samples() const;

  const EarlyStop& early_stop() const { return early_stop_; }

 private:
  bool evaluate();
  EvaluationSums sum_batches();
  bool take_result(double loss, MetricValue metric);
  int64_t max_batches() const;
  void warn_of_explosion(double loss);
  void write_samples();

  RunContext& run_;
  RunCheckpoints& checkpoints_;
  BatchLoader& test_data_;
  EarlyStop early_stop_;
  std::optional<EvaluationSamples> samples_;
  double first_loss_ = std::numeric_limits<double>::quiet_NaN();  // NaN: a resumed run
  bool warned_of_explosion_ = false;
};

}  // namespace spire::inline run
