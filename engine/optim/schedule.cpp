#include <spire/optim/schedule.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <spire/base/error.h>

namespace spire {

Schedule::Schedule(const ScheduleConfig& config, double lr, int64_t total_steps,
                   int64_t steps_per_epoch)
    : config_(config), lr_(lr), total_(total_steps) {
  constexpr std::array names = {"constant", "step", "cosine", "linear", "polynomial"};
  auto found = std::find(names.begin(), names.end(), config.name);
  if (found == names.end()) {
    fail(Category::config,
         "unknown schedule '{}'; known: constant, step, cosine, linear, polynomial", config.name);
  }
  kind_ = static_cast<Kind>(found - names.begin());
  auto per_epoch = static_cast<double>(steps_per_epoch);
  warmup_ = config.warmup_steps > 0 ? config.warmup_steps
                                    : std::llround(config.warmup_epochs * per_epoch);
  drop_every_ = config.step_epochs * per_epoch;
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
    case Kind::cosine:
      return config_.min_lr + (lr_ - config_.min_lr) * (1 + std::cos(std::numbers::pi * t)) / 2;
    case Kind::linear:
      return lr_ + (config_.min_lr - lr_) * t;
    case Kind::polynomial:
      return config_.min_lr + (lr_ - config_.min_lr) * std::pow(1 - t, config_.power);
  }
  return lr_;
}

}  // namespace spire
