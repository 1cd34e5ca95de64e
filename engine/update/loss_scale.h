// Dynamic loss scale of fp16: a step whose gradients overflow is skipped and halves the scale;
// growth_interval steps in a row without overflow double it. Micikevicius et al., "Mixed Precision
// Training", ICLR 2018.
#pragma once
#include <spire/error.h>
#include <spire/run_config.h>

#include "engine/update/loss_scale_state.h"

namespace spire {

class LossScale {
 public:
  // on: true for a run in fp16; otherwise the scale stays 1.
  LossScale(const LossScaleConfig& config, bool on) : config_(config), on_(on) {
    if (on) state_.scale = config.initial;
  }

  bool on() const { return on_; }
  double value() const { return state_.scale; }
  const LossScaleState& state() const { return state_; }
  const LossScaleConfig& config() const { return config_; }
  void restore(const LossScaleState& state) {
    if (on_) state_ = state;
  }

  // Does so if on(). Throws Error(diverged) after max_skips skipped steps in a row.
  void record(bool overflowed) {
    if (!on_) return;
    state_.record(overflowed, config_.minimum, config_.growth_interval);
    if (state_.skipped_in_row < config_.max_skips) return;
    fail(Category::diverged,
         "the gradients overflowed fp16 in {} steps in a row, the last time at loss scale {:g}; "
         "lower optimizer.lr, lengthen schedule.warmup_epochs, or use precision: bf16",
         state_.skipped_in_row, state_.scale);
  }

 private:
  LossScaleConfig config_;
  bool on_;
  LossScaleState state_;
};

}  // namespace spire
