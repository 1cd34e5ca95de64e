// Evaluations of a run on its test data, and early stopping by their metric.
#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>

#include <spire/run_config.h>

#include "engine/checkpoint/training_state.h"
#include "engine/data/loader.h"
#include "engine/inference/evaluation_samples.h"
#include "engine/run/run_checkpoints.h"
#include "engine/run/run_context.h"

namespace spire::inline run {

// Counter of the evaluations in a row without improvement; ends a run after `patience` of them.
class EarlyStop {
 public:
  explicit EarlyStop(const EarlyStopConfig& config) : config_(config) {}

  // improved: the metric is the best so far. It counts if it is min_delta or more away from the
  // last one that counted: many small steps add up to one.
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
  Evaluation(RunContext& run, RunCheckpoints& checkpoints, BatchLoader& test_data);  // outlive this

  void resume();  // restores the early stop from run.progress
  // Makes evaluations write the model's output for a few samples, where the task has any.
  void write_samples_to(const std::filesystem::path& folder);
  void set_first_loss(double loss) { first_loss_ = loss; }  // of the first training step
  bool knows_first_loss() const;

  // Returns whether the current step is to be evaluated, and was not yet: the last step, and those
  // at the ends of epochs and intervals.
  bool due() const;
  // Evaluates if it is due and nobody asked to stop. Returns whether the metric is the best so far.
  bool run_if_due() { return due() && !run_.stop_asked() && evaluate(); }
  int64_t samples() const;  // of one evaluation; fewer than the test data in a dry run

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
