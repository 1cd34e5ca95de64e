// The clock of a run: what a step took, how much of it waited for data, what the rest will take.
#pragma once
#include <chrono>
#include <cstdint>

#include <spire/data/loader.h>
#include <spire/observe/observer.h>
#include <spire/train/trainer.h>

namespace spire {

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
  // steps' own part of the summary: train_loss (mean of the last epoch's steps, or of what there
  // was of it), samples_per_s (training time alone, first step left out), seconds.
  RunSummary summary() const;

 private:
  int64_t total_steps_, steps_per_epoch_;
  Metric metric_;
  int64_t step_ = 0, steps_here_ = 0;
  Clock::time_point begin_, last_;
  double waited_ = 0;                      // loader's total at the last step
  double smooth_rate_ = 0;                 // samples a second, exponential mean over about a second
  double train_seconds_ = 0;               // without the first step
  int64_t train_samples_ = 0;              // the same
  double loss_sum_ = 0, former_loss_ = 0;  // of this epoch so far; mean of the one before
  int64_t loss_count_ = 0;
};

int64_t peak_resident_bytes();  // of this process

}  // namespace spire
