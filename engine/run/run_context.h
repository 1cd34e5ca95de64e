// State and services that the parts of a running run share: its loop, evaluations and checkpoints.
#pragma once
#include <atomic>
#include <cstdint>

#include <spire/train.h>

#include "engine/run/run_clock.h"
#include "engine/run/run_setup.h"
#include "engine/run/run_warnings.h"

namespace spire::inline run {

// Used on the leading lane's thread only.
struct RunContext {
  RunSetup& setup;
  const RunOptions& options;
  World& world;
  Observer& observer;  // rank 0's; silent on the others
  Trainer& trainer;
  RunClock& clock;
  int64_t total_steps;  // at the end of the run

  TrainingProgress progress = {};  // step: begun; samples_seen: in steps that have been reported
  bool stop = false;               // some rank asked all ranks to stop
  SkippedSampleWarnings skipped_samples = {};

  bool writes() const { return options.dry_run == 0; }
  bool stop_here() const { return options.stop && options.stop->load(std::memory_order_relaxed); }
  // Several ranks agree on it in each step and in each batch of an evaluation.
  bool stop_asked() const { return stop || (world.size() == 1 && stop_here()); }
  void enter(Phase phase) const { trainer.status().enter(0, phase); }
  int64_t steps_per_epoch() const { return setup.steps_per_epoch(); }
};

// Whether `count` is a multiple of an interval. Intervals of 0 never end.
inline bool is_due(int64_t every, int64_t count) {
  return every > 0 && count % every == 0;
}

}  // namespace spire::inline run
