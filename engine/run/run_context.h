// The state of a running run that its loop, evaluations and checkpoints share, and its clock.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include <spire/observer.h>
#include <spire/train.h>

#include "engine/data/loader.h"
#include "engine/run/run_data.h"
#include "engine/run/run_setup.h"
#include "engine/train/trainer.h"

namespace spire::inline run {

// Means over the samples of an epoch's steps so far. A run that resumes in the middle of an epoch
// starts them there.
class EpochMeans {
 public:
  void begin() { *this = {}; }
  void add(const StepResult& step);
  // The mean after `step`; the step's own number where all steps so far were skipped.
  double loss_after(const StepResult& step) const { return samples_ > 0 ? loss() : step.loss; }
  double score_after(const StepResult& step) const { return samples_ > 0 ? score() : step.score; }
  double loss() const { return samples_ > 0 ? loss_ / samples_ : 0; }

 private:
  double score() const { return score_ / samples_; }

  double loss_ = 0, score_ = 0, samples_ = 0;  // sums over samples, and how many
};

// Times of the steps: their rate, the share of a step spent waiting for data, the time left.
class RunClock {
 public:
  using Clock = std::chrono::steady_clock;
  RunClock(int64_t total_steps, int64_t steps_per_epoch, Metric metric);

  void start(int64_t steps_done, const BatchLoader& data);
  // Call right after a step has ended: its times count from the end of the step before.
  StepReport step(const StepResult& result, int64_t samples_seen, const BatchLoader& data);
  // Excludes the time since `begin` from the training time; returns it in seconds.
  double pause(Clock::time_point begin);
  static Clock::time_point now() { return Clock::now(); }

  double epoch(int64_t step) const;
  // Fills in train_loss (mean of the last epoch, as far as this process ran it), samples_per_s (of
  // training time without the first step) and seconds only.
  RunSummary summary() const;

 private:
  int64_t total_steps_, steps_per_epoch_;
  Metric metric_;
  int64_t step_ = 0, steps_here_ = 0;
  Clock::time_point begin_, last_;
  double waited_ = 0;          // loader's total at the last step
  double smooth_rate_ = 0;     // samples a second, exponential mean over about a second
  double train_seconds_ = 0;   // without the first step
  int64_t train_samples_ = 0;  // the same
  EpochMeans means_;
};

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
  // Ranks agree on it in each step and in each batch of an evaluation.
  bool stop_asked() const { return stop || (world.size() == 1 && stop_here()); }
  void enter(Phase phase) const { trainer.status().enter(0, phase); }
  int64_t steps_per_epoch() const { return setup.steps_per_epoch(); }
};

inline bool is_due(int64_t every, int64_t count) {
  return every > 0 && count % every == 0;  // an interval of 0 never ends
}

}  // namespace spire::inline run
