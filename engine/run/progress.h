// The clock of a run: what a step took, how much of it waited for data, what the rest will take.
#pragma once
#include <chrono>
#include <cstdint>

#include <spire/observer.h>

#include "engine/data/loader.h"
#include "engine/train/trainer.h"

namespace spire::inline run {

// Means over the samples of an epoch's steps so far: a batch counts by its samples, so that a small
// last one says little. A run that goes on in the middle of an epoch begins them anew there.
class EpochMeans {
 public:
  void begin() { *this = {}; }
  void add(const StepResult& step);
  // What there is to show after `step`: its own numbers where no step has counted yet.
  double loss_after(const StepResult& step) const { return samples_ > 0 ? loss() : step.loss; }
  double score_after(const StepResult& step) const { return samples_ > 0 ? score() : step.score; }
  double loss() const { return samples_ > 0 ? loss_ / samples_ : 0; }

 private:
  double score() const { return score_ / samples_; }

  double loss_ = 0, score_ = 0, samples_ = 0;  // sums over samples, and how many
};

class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  Progress(int64_t total_steps, int64_t steps_per_epoch, Metric metric);

  void start(int64_t steps_done, const BatchLoader& data);
  // Right after a step has ended; data.wait_seconds() tells how long was waited since the one
  // before.
  StepReport step(const StepResult& result, int64_t samples_seen, const BatchLoader& data);
  // Evaluation and snapshots are no training time: call with their begin. Returns seconds since.
  double pause(Clock::time_point begin);
  static Clock::time_point now() { return Clock::now(); }

  double epoch(int64_t step) const;
  // steps' own part of the summary: train_loss (mean over the samples of the last epoch, or of what
  // there was of it here), samples_per_s (training time alone, first step left out), seconds.
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
