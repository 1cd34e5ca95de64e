#include "engine/optim/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/ranges.h>

#include <spire/error.h>

namespace spire::inline optim {

double scaled_lr(double lr, const LrConfig& config, int64_t global_batch) {
  double growth = static_cast<double>(global_batch) / static_cast<double>(config.base_batch);
  if (config.scaling == "linear") return lr * growth;
  if (config.scaling == "sqrt") return lr * std::sqrt(growth);
  return lr;
}

Schedule::Schedule(const ScheduleConfig& config, double lr, int64_t total_steps,
                   int64_t steps_per_epoch)
    : config_(config), lr_(lr), total_(total_steps) {
  constexpr std::array names = {"constant", "step", "multistep", "cosine", "linear", "polynomial"};
  auto found = std::find(names.begin(), names.end(), config.name);
  if (found == names.end()) {
    fail(Category::config, "unknown schedule '{}'; must be one of: {}", config.name,
         fmt::join(names, ", "));
  }
  kind_ = static_cast<Kind>(found - names.begin());
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
  switch (kind_) {
    case Kind::constant:
      return lr_;
    case Kind::step:
      return lr_ * std::pow(config_.gamma, std::floor(static_cast<double>(step) / drop_every_));
    case Kind::multistep:
      return lr_ * std::pow(config_.gamma,
                            std::ranges::upper_bound(milestones_, step) - milestones_.begin());
    case Kind::cosine:
      return config_.min_lr + (lr_ - config_.min_lr) * (1 + std::cos(std::numbers::pi * t)) / 2;
    case Kind::linear:
      return lr_ + (config_.min_lr - lr_) * t;
    case Kind::polynomial:
      return config_.min_lr + (lr_ - config_.min_lr) * std::pow(1 - t, config_.power);
  }
  return lr_;
}

}  // namespace spire::inline optim
