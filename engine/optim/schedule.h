// Learning rate as a function of the step alone.
#pragma once
#include <cstdint>

#include <spire/run_config.h>

namespace spire::inline optim {

// optimizer.lr as it grows with the global batch: x (global_batch / base_batch), or x its root.
// Linear: Goyal et al. 2017; square root: Krizhevsky 2014.
double scaled_lr(double lr, const LrConfig& config, int64_t global_batch);

class Schedule {
 public:
  // Throws Error(config) for an unknown name. A warm-up longer than the run just never ends.
  Schedule(const ScheduleConfig& config, double lr, int64_t total_steps, int64_t steps_per_epoch);

  // For step 0, 1, ... total_steps - 1. During warm-up it rises linearly, the first step included:
  // lr (step + 1) / warmup_steps (Goyal et al. 2017); then, with t in [0, 1) the rest of the run
  // done:
  //   constant    lr
  //   step        lr gamma^floor(step / drop), drop = step_steps or step_epochs steps_per_epoch
  //   multistep   lr gamma^(milestones <= step), in steps or in epochs
  //   cosine      min_lr + (lr - min_lr) (1 + cos(pi t)) / 2
  //   linear      lr + (min_lr - lr) t
  //   polynomial  min_lr + (lr - min_lr) (1 - t)^power
  double lr(int64_t step) const;
  int64_t warmup_steps() const { return warmup_; }

 private:
  enum class Kind : uint8_t { constant, step, multistep, cosine, linear, polynomial };
  ScheduleConfig config_;
  Kind kind_;
  double lr_;
  int64_t total_, warmup_;
  double drop_every_;                // in steps
  std::vector<int64_t> milestones_;  // in steps
};

}  // namespace spire::inline optim
