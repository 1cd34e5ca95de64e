// The state that the step loop, the evaluations and the checkpoints of a run share, its clock, and
// the limit of its time.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include <spire/observer.h>
#include <spire/train.h>

#include "engine/data/loader.h"
#include "engine/run/audit/run_audit.h"
#include "engine/run/guard.h"
#include "engine/run/run_data.h"
#include "engine/run/run_setup.h"
#include "engine/train/tower_trainer.h"

namespace spire {

// Means of loss and score over the epoch's samples so far, in a resumed run since the resumption.
class EpochMeans {
 public:
  void begin() { *this = {}; }
  void add(const StepOutcome& step);
  // Return the mean after `step`, or the step's own value if all steps so far were skipped (fp16).
  double loss_after(const StepOutcome& step) const { return samples_ > 0 ? loss() : step.loss; }
  double score_after(const StepOutcome& step) const { return samples_ > 0 ? score() : step.score; }
  // NaN where no step was trained, as in a run that had ended and is resumed.
  double loss() const {
    return samples_ > 0 ? loss_ / samples_ : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  double score() const { return score_ / samples_; }

  double loss_ = 0, score_ = 0, samples_ = 0;  // sums over samples, number of samples
};

// Samples per second over about the last second: a step t seconds back has the weight e^-t. It
// divides a sum of samples by a sum of seconds, so that a step which ended early, as steps of a GPU
// in flight may, counts for no more than its time.
class RecentRate {
 public:
  // seconds: above 0.
  void add(double samples, double seconds) {
    double kept = std::exp(-seconds);
    samples_ = samples_ * kept + samples;
    seconds_ = seconds_ * kept + seconds;
  }
  // Samples per second; 0 before the first step.
  double value() const { return seconds_ > 0 ? samples_ / seconds_ : 0; }

 private:
  double samples_ = 0, seconds_ = 0;
};

// Measures steps: their rate, the share of time spent waiting for data, and the time left.
class RunClock {
 public:
  using Clock = std::chrono::steady_clock;
  RunClock(int64_t total_steps, int64_t steps_per_epoch, Metric metric);

  void start(int64_t steps_done, const BatchLoader& data);
  // Call it right after a step has ended; a step lasts from the end of the previous one.
  StepReport step(const StepOutcome& result, int64_t samples_seen, const BatchLoader& data);
  // Excludes the time since `begin` from the training time, and returns it in seconds.
  double pause(Clock::time_point begin);
  static Clock::time_point now() { return Clock::now(); }

  double epoch(int64_t step) const;
  // Sets only train_loss (mean of the last epoch), samples_per_s and times (without step 1), and
  // seconds.
  RunSummary summary() const;

 private:
  int64_t total_steps_, steps_per_epoch_;
  Metric metric_;
  int64_t step_ = 0, steps_here_ = 0;
  Clock::time_point begin_, last_;
  RecentRate rate_;            // of the steps since the first
  double waited_ = 0;          // seconds: the loader's total at the last step
  double train_seconds_ = 0;   // without the first step
  int64_t train_samples_ = 0;  // samples of the same steps
  StepTimes train_times_;      // their sums
  EpochMeans means_;
};

// Ends a run before its max_time, early enough for the steps under way and the last checkpoint.
class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // seconds: max_time, counted from `started`; 0: no limit. checkpoint_bytes: the expected size of
  // a checkpoint, which stands for its time until one is written.
  TimeLimit(double seconds, Clock::time_point started, int64_t checkpoint_bytes)
      : seconds_(seconds),
        started_(started),
        checkpoint_seconds_(static_cast<double>(checkpoint_bytes) / slow_disk) {}

  void took_step(double seconds) {
    stepped_ = true;
    step_seconds_ = std::max(seconds, memory * step_seconds_);
  }
  void took_checkpoint(double seconds) { checkpoint_seconds_ = seconds; }

  // Returns whether the run has to stop now: less than reserve() is left. False before the first
  // step, so that every attempt gets on. Once true, it stays so: other ranks may know it by then.
  bool reached(Clock::time_point now = Clock::now()) {
    if (seconds_ <= 0 || !stepped_) return false;
    double passed = std::chrono::duration<double>(now - started_).count();
    reached_ = reached_ || passed + reserve() >= seconds_;
    return reached_;
  }

  // Seconds for the present step and, with several processes, the next one, with which the others
  // learn of the stop; for the last checkpoint; and for the end of the process.
  double reserve() const { return 2 * step_seconds_ + checkpoint_seconds_ + closing; }

 private:
  static constexpr double slow_disk = 50e6;  // bytes per second
  static constexpr double memory = 0.9;      // a long step counts less with every step after it
  static constexpr double closing = 1.0;     // seconds

  double seconds_;
  bool stepped_ = false, reached_ = false;
  Clock::time_point started_;
  double checkpoint_seconds_, step_seconds_ = 0;
};

// Used on the leading lane's thread only.
struct RunContext {
  RunSetup& setup;
  const RunOptions& options;
  World& world;
  Observer& observer;  // on rank 0 the user's; on others silent
  TowerTrainer& trainer;
  RunClock& clock;
  int64_t total_steps;  // number of steps of the whole run

  TrainingProgress progress = {};  // step: steps begun; samples_seen: of steps reported
  int64_t steps_done = 0;          // without those under way and the one that ended the run
  bool stop = false;               // a rank asked all ranks to stop
  SkippedSampleWarnings skipped_samples = {};
  Guard guard = Guard(setup.config.guard);
  RunAudit audit = RunAudit(setup, trainer);
  mutable std::optional<TimeLimit> limit = {};  // on rank 0, whose stop request all ranks follow

  bool writes() const { return options.dry_run == 0; }
  bool signalled() const { return options.stop && options.stop->load(std::memory_order_relaxed); }
  bool time_is_up() const { return limit && limit->reached(); }
  bool stop_here() const { return signalled() || time_is_up(); }
  // Equal on all ranks: they agree on it in each step and each batch of an evaluation.
  bool stop_asked() const { return stop || (world.size() == 1 && stop_here()); }
  void enter(Phase phase) const { trainer.status().enter(0, phase); }
  int64_t steps_per_epoch() const { return setup.steps_per_epoch(); }
};

inline bool is_due(int64_t every, int64_t count) {
  return every > 0 && count % every == 0;  // every = 0 turns it off
}

}  // namespace spire
