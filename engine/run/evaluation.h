// Evaluates a run's model when that is due, on its validation data or, where it has none, on the
// test data, and stops a run early by the metric.
#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>

#include <spire/run_config.h>

#include "engine/checkpoint/training_state.h"
#include "engine/data/loader.h"
#include "engine/inference/sample_outputs.h"
#include "engine/run/metrics/evaluation_metrics.h"
#include "engine/run/run_checkpoints.h"
#include "engine/run/run_context.h"

namespace spire {

// Counts successive evaluations without improvement, `patience` of which end a run.
class EarlyStop {
 public:
  explicit EarlyStop(const EarlyStopConfig& config) : config_(config) {}

  // Adds an evaluation. improved: the metric is the best so far. An improvement counts only if it
  // differs by at least min_delta from the last one that counted, so that small ones add up.
  void add(bool improved, double metric);

  bool reached() const { return config_.patience > 0 && state_.waited >= config_.patience; }

  const EarlyStopState& state() const { return state_; }
  void restore(const EarlyStopState& state) { state_ = state; }

 private:
  EarlyStopConfig config_;
  EarlyStopState state_;
};

class Evaluation {
 public:
  // data: of DatasetPair::selection(). All arguments outlive this.
  Evaluation(RunContext& run, RunCheckpoints& checkpoints, BatchLoader& data);

  void resume();  // restores the state of early_stop() from run.progress
  // From now on evaluations write their confusion matrix, if that is asked for, below `folder`.
  void write_files_to(const std::filesystem::path& folder) { folder_ = folder; }
  // From now on evaluations also write sample outputs to `folder`, if the task has any.
  void write_samples_to(const std::filesystem::path& folder);
  void set_first_loss(double loss) { first_loss_ = loss; }  // loss of step 1, if not resumed
  bool knows_first_loss() const;

  // Returns whether the present step has to be evaluated and has not been yet: the last step, and
  // steps that end an interval of the config's `eval`. With RunOptions::only_steps none has to.
  bool due() const;
  // Evaluates if it is due and no rank asked to stop. Returns whether the metric is the best yet.
  bool run_if_due() { return due() && !run_.stop_asked() && evaluate(); }
  int64_t samples() const;  // samples per evaluation: all of the data, fewer in a dry run

  // Evaluates the trainer's present weights, which are those of `step`, on the test data, due or
  // not. Returns nullopt if a rank asked to stop.
  std::optional<EvalReport> measure_test(BatchLoader& test_data, int64_t step);

  const EarlyStop& early_stop() const { return early_stop_; }

 private:
  bool evaluate();
  EvaluationSums sum_batches(BatchLoader& data, EvaluationMetrics& metrics);
  bool take_result(const EvalReport& report);
  void write_confusion(const char* file, int64_t step, const EvaluationMetrics& metrics);
  int64_t max_batches() const;
  int64_t samples_of(const Dataset& data) const;
  void warn_of_explosion(double loss);
  void warn_of_undefined(int64_t step);
  void write_samples();

  RunContext& run_;
  RunCheckpoints& checkpoints_;
  BatchLoader& data_;
  EvaluationMetrics metrics_;
  EarlyStop early_stop_;
  std::filesystem::path folder_;  // empty: no files
  std::optional<EvaluationSamples> samples_;
  double first_loss_ = std::numeric_limits<double>::quiet_NaN();  // NaN if the run resumed
  bool warned_of_explosion_ = false, warned_of_undefined_ = false;
};

}  // namespace spire
