// Learning-rate schedules: the rate is a function of the step alone.
#pragma once
#include <cstdint>
#include <vector>

#include <spire/run_config.h>

namespace spire::inline optim {

// Returns optimizer.lr scaled by global_batch / base_batch (Goyal et al. 2017), or by its square
// root (Krizhevsky 2014). Throws Error(config) for an unknown scaling.
double scaled_lr(double lr, const LrConfig& config, int64_t global_batch);

class Schedule {
 public:
  // A warm-up longer than the run never ends.
  Schedule(const ScheduleConfig& config, double lr, int64_t total_steps, int64_t steps_per_epoch);

  // Returns the rate of step 0, 1, ... total_steps - 1. During warm-up lr (step + 1) / warmup_steps
  // (Goyal et al. 2017). Then, with t in [0, 1) the done part of the rest of the run:
  //   constant    lr
  //   step        lr gamma^floor(step / drop), drop = step_steps or step_epochs steps_per_epoch
  //   multistep   lr gamma^(milestones <= step), in steps or in epochs
  //   cosine      min_lr + (lr - min_lr) (1 + cos(pi t)) / 2
  //   linear      lr + (min_lr - lr) t
  //   polynomial  min_lr + (lr - min_lr) (1 - t)^power
  double lr(int64_t step) const;  // throws Error(config) for an unknown schedule
  int64_t warmup_steps() const { return warmup_; }

 private:
  ScheduleConfig config_;
  double lr_;
  int64_t total_, warmup_;
  double drop_every_;                // in steps
  std::vector<int64_t> milestones_;  // in steps
};

}  // namespace spire::inline optim
