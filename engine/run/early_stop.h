// Early stopping: ends a run after `patience` evaluations in a row without improvement.
#pragma once
#include <spire/run_config.h>

#include "engine/checkpoint/training_state.h"

namespace spire::inline run {

class EarlyStop {
 public:
  explicit EarlyStop(const EarlyStopConfig& config) : config_(config) {}

  // Adds an evaluation. improved: its metric is the best so far. It counts as an improvement if it
  // is also at least min_delta away from the reference, which then becomes this metric: many small
  // steps add up to one improvement.
  void add(bool improved, double metric);

  // Whether the run has waited for `patience` evaluations; never with patience 0.
  bool reached() const { return config_.patience > 0 && state_.waited >= config_.patience; }

  const EarlyStopState& state() const { return state_; }
  void restore(const EarlyStopState& state) { state_ = state; }

 private:
  EarlyStopConfig config_;
  EarlyStopState state_;
};

}  // namespace spire::inline run
