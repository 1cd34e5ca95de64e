// Learning-rate schedules. The rate depends only on the step.
#pragma once
#include <cstdint>
#include <vector>

#include <spire/run_config.h>

namespace spire {

// Returns optimizer.lr scaled by global_batch / base_batch (Goyal et al. 2017), or by its square
// root (Krizhevsky 2014). Throws Error(config) for an unknown scaling.
double scaled_lr(double lr, const LrConfig& config, int64_t global_batch);

class Schedule {
 public:
  // lr: the rate at the end of the warm-up. A warm-up that is longer than the run does not end.
  Schedule(const ScheduleConfig& config, double lr, int64_t total_steps, int64_t steps_per_epoch);

  // Returns the rate of a step, 0 for the first. During warm-up it is lr (step + 1) / warmup_steps
  // (Goyal et al. 2017). After it, with t in [0, 1] from the end of warm-up to the end of the run:
  //   constant    lr
  //   step        lr gamma^floor(step / drop), drop = step_steps or step_epochs steps_per_epoch
  //   multistep   lr gamma^n, n = number of milestones <= step
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

}  // namespace spire
