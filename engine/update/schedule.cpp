#include "engine/update/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/base/fail.h"

namespace spire {

double scaled_lr(double lr, const LrConfig& config, int64_t global_batch) {
  double growth = static_cast<double>(global_batch) / static_cast<double>(config.base_batch);
  using Scaling = LrConfig::Scaling;
  switch (config.scaling) {
    case Scaling::none:
      return lr;
    case Scaling::linear:
      return lr * growth;
    case Scaling::sqrt:
      return lr * std::sqrt(growth);
  }
  fail(Category::config, "lr.scaling: unknown scaling");
}

Schedule::Schedule(const ScheduleConfig& config, double lr, int64_t total_steps,
                   int64_t steps_per_epoch)
    : config_(config), lr_(lr), total_(total_steps) {
  // Lengths in steps win over those in epochs, which are their defaults.
  auto per_epoch = static_cast<double>(steps_per_epoch);
  warmup_ = config.warmup_steps > 0 ? config.warmup_steps
                                    : std::llround(config.warmup_epochs * per_epoch);
  drop_every_ = config.step_steps > 0 ? static_cast<double>(config.step_steps)
                                      : config.step_epochs * per_epoch;
  // The constructor turns all lengths into steps, so that lr() knows no epochs.
  milestones_ = config.milestone_steps;
  if (milestones_.empty()) {
    for (int64_t epoch : config.milestones) milestones_.push_back(epoch * steps_per_epoch);
  }
}

double Schedule::lr(int64_t step) const {
  if (step < warmup_) return lr_ * static_cast<double>(step + 1) / static_cast<double>(warmup_);
  // Beyond total_steps, in a run that is resumed, the schedules in t stay at their last rate.
  double t = static_cast<double>(step - warmup_) /
             static_cast<double>(std::max<int64_t>(1, total_ - warmup_));
  t = std::min(t, 1.0);
  using Name = ScheduleConfig::Name;
  switch (config_.name) {
    case Name::constant:
      return lr_;
    case Name::step:
      return lr_ * std::pow(config_.gamma, std::floor(static_cast<double>(step) / drop_every_));
    case Name::multistep:
      return lr_ * std::pow(config_.gamma,
                            std::ranges::upper_bound(milestones_, step) - milestones_.begin());
    case Name::cosine:
      return config_.min_lr + (lr_ - config_.min_lr) * (1 + std::cos(std::numbers::pi * t)) / 2;
    case Name::linear:
      return lr_ + (config_.min_lr - lr_) * t;
    case Name::polynomial:
      return config_.min_lr + (lr_ - config_.min_lr) * std::pow(1 - t, config_.power);
  }
  fail(Category::config, "schedule.name: unknown schedule");
}

}  // namespace spire
