// The clock of a run: the time of each step, the share of it spent waiting for data, the time left.
#pragma once
#include <chrono>
#include <cstdint>

#include <spire/observer.h>

#include "engine/data/loader.h"
#include "engine/train/trainer.h"

namespace spire::inline run {

// Means over the samples of an epoch's steps so far. A batch is weighted by its samples. A run that
// resumes in the middle of an epoch starts them there.
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

class RunClock {
 public:
  using Clock = std::chrono::steady_clock;
  RunClock(int64_t total_steps, int64_t steps_per_epoch, Metric metric);

  void start(int64_t steps_done, const BatchLoader& data);
  // Call right after a step has ended: its time and its wait for data count from the end of the
  // step before.
  StepReport step(const StepResult& result, int64_t samples_seen, const BatchLoader& data);
  // Excludes the time since `begin`, of an evaluation or a snapshot, from the training time.
  // Returns it in seconds.
  double pause(Clock::time_point begin);
  static Clock::time_point now() { return Clock::now(); }

  double epoch(int64_t step) const;
  // Returns a summary with train_loss (the mean of the last epoch, as far as this process ran it),
  // samples_per_s (of training time without the first step) and seconds; the rest is left empty.
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

int64_t peak_resident_bytes();  // of this process

}  // namespace spire::inline run
