#include "engine/run/run_context.h"

#include <algorithm>
#include <cmath>

#include "engine/observe/records.h"

namespace spire {
namespace {

double seconds_between(RunClock::Clock::time_point a, RunClock::Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

// A step whose gradients overflowed has changed no weight, and its loss may be NaN; so with a step
// that the guard rejects.
void EpochMeans::add(const StepOutcome& step) {
  if (step.skipped || step.rejected) return;
  auto samples = static_cast<double>(step.samples);
  loss_ += step.loss * samples;
  score_ += step.score * samples;
  samples_ += samples;
}

RunClock::RunClock(int64_t total_steps, int64_t steps_per_epoch, Metric metric)
    : total_steps_(total_steps),
      steps_per_epoch_(steps_per_epoch),
      metric_(metric),
      begin_(now()),
      last_(begin_) {}

void RunClock::start(int64_t steps_done, const BatchLoader& data) {
  step_ = steps_done;
  last_ = now();
  waited_ = data.wait_seconds();
}

StepReport RunClock::step(const StepOutcome& result, int64_t samples_seen,
                          const BatchLoader& data) {
  auto end = now();
  double seconds = std::max(1e-9, seconds_between(last_, end));
  double waited = data.wait_seconds() - waited_;
  last_ = end;
  waited_ = data.wait_seconds();
  ++step_;
  // The first step of a process warms up caches and libraries, so that it counts for no rate.
  StepTimes times = complete_times(result.times, waited, seconds);
  if (++steps_here_ > 1) {
    train_seconds_ += seconds;
    train_samples_ += result.samples;
    train_times_ += times;
  }
  // The first step also warms up, so that the mean begins anew with the second.
  if (steps_here_ <= 2) rate_ = {};
  rate_.add(static_cast<double>(result.samples), seconds);
  if ((step_ - 1) % steps_per_epoch_ == 0) means_.begin();
  means_.add(result);

  StepReport report;
  report.step = step_;
  report.total_steps = total_steps_;
  report.epoch = epoch(step_);
  report.loss = result.loss;
  report.metric = measure(metric_, result.loss, result.score);
  report.epoch_loss = means_.loss_after(result);
  report.epoch_metric = measure(metric_, report.epoch_loss, means_.score_after(result));
  report.lr = result.lr;
  report.grad_norm = result.grad_norm;
  report.samples_per_s = rate_.value();
  report.step_ms = seconds * 1e3;
  report.data_wait = times.data / seconds;
  report.comm_wait = times.reduce / seconds;
  report.times = times;
  report.loss_scale = result.loss_scale;
  report.skipped_steps = result.skipped_steps;
  report.samples_seen = samples_seen;
  // Remaining time at the mean of all steps here; the smooth rate would make it jump.
  double per_step =
      steps_here_ > 1 ? train_seconds_ / static_cast<double>(steps_here_ - 1) : seconds;
  report.eta_seconds = per_step * static_cast<double>(total_steps_ - step_);
  return report;
}

double RunClock::pause(Clock::time_point begin) {
  auto end = now();
  last_ = end;
  return seconds_between(begin, end);
}

double RunClock::epoch(int64_t step) const {
  return static_cast<double>(step) / static_cast<double>(steps_per_epoch_);
}

RunSummary RunClock::summary() const {
  RunSummary summary;
  summary.train_loss = means_.loss();
  summary.samples_per_s =
      train_seconds_ > 0 ? static_cast<double>(train_samples_) / train_seconds_ : 0;
  if (steps_here_ > 1) summary.times = train_times_ * (1.0 / static_cast<double>(steps_here_ - 1));
  summary.seconds = seconds_between(begin_, now());
  return summary;
}

}  // namespace spire
