// When further training no longer pays: after so many evaluations in a row without improvement.
#pragma once
#include <cstdint>

#include <spire/run_config.h>

namespace spire::inline run {

class EarlyStop {
 public:
  // What a checkpoint keeps, so that a resumed run decides alike.
  struct State {
    int64_t waited = -1;   // evaluations since one that counted as an improvement; -1: none yet
    double reference = 0;  // the metric of that one
  };
  explicit EarlyStop(const EarlyStopConfig& config) : config_(config) {}

  // One evaluation. improved: its metric is better than all before. It counts as an improvement
  // when it is also min_delta away from the reference, which then is moved to it: many small steps
  // add up to one.
  void add(bool improved, double metric);

  // The run has waited for `patience` evaluations. Never with patience 0.
  bool reached() const { return config_.patience > 0 && state_.waited >= config_.patience; }

  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

 private:
  EarlyStopConfig config_;
  State state_;
};

}  // namespace spire::inline run
