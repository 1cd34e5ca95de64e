#include "engine/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace spire::inline optim {

double scaled_lr(double lr, const LrConfig& config, int64_t global_batch) {
  double growth = static_cast<double>(global_batch) / static_cast<double>(config.base_batch);
  if (config.scaling == LrConfig::Scaling::linear) return lr * growth;
  if (config.scaling == LrConfig::Scaling::sqrt) return lr * std::sqrt(growth);
  return lr;
}

Schedule::Schedule(const ScheduleConfig& config, double lr, int64_t total_steps,
                   int64_t steps_per_epoch)
    : config_(config), lr_(lr), total_(total_steps) {
  auto per_epoch = static_cast<double>(steps_per_epoch);
  warmup_ = config.warmup_steps > 0 ? config.warmup_steps
                                    : std::llround(config.warmup_epochs * per_epoch);
  drop_every_ = config.step_steps > 0 ? static_cast<double>(config.step_steps)
                                      : config.step_epochs * per_epoch;
  milestones_ = config.milestone_steps;
  if (milestones_.empty()) {
    for (int64_t epoch : config.milestones) milestones_.push_back(epoch * steps_per_epoch);
  }
}

double Schedule::lr(int64_t step) const {
  if (step < warmup_) return lr_ * static_cast<double>(step + 1) / static_cast<double>(warmup_);
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
  return lr_;
}

}  // namespace spire::inline optim
