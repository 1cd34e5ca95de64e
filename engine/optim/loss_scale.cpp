#include "engine/optim/loss_scale.h"

#include <spire/error.h>

namespace spire::inline optim {

LossScale::LossScale(const LossScaleConfig& config, bool on) : config_(config), on_(on) {
  if (on) state_.scale = config.initial;
}

void LossScale::restore(const LossScaleState& state) {
  if (on_) state_ = state;
}

void LossScale::record(bool overflowed) {
  if (!on_) return;
  state_.record(overflowed, config_);
  if (state_.skipped_in_row < config_.max_skips) return;
  fail(
      Category::diverged,
      "the gradients overflowed fp16 in {} steps in a row, the last time at loss scale {:g}; lower "
      "optimizer.lr, lengthen schedule.warmup_epochs, or use precision: bf16",
      state_.skipped_in_row, state_.scale);
}

}  // namespace spire::inline optim
