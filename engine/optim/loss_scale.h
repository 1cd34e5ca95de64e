// The dynamic loss scale of fp16: gradients are those of the scaled loss, so that small ones do not
// vanish in fp16. A step whose gradients overflow is skipped and halves the scale; enough good
// steps in a row double it. Micikevicius et al., "Mixed Precision Training", ICLR 2018.
#pragma once
#include <cstdint>

#include <spire/run_config.h>

#include "engine/base/dtype.h"

namespace spire::inline optim {

struct LossScaleState {
  static constexpr double largest = 0x1p40;  // far above what gradients of fp16 can take

  double scale = 1;
  int64_t good_steps = 0;  // since the scale last changed
  int64_t skipped = 0, skipped_in_row = 0;

  // A step was done, or its gradients were not finite and it was skipped.
  SPIRE_HOST_DEVICE void record(bool overflowed, const LossScaleConfig& config) {
    if (overflowed) {
      ++skipped;
      ++skipped_in_row;
      good_steps = 0;
      scale = scale / 2 > config.minimum ? scale / 2 : config.minimum;
      return;
    }
    skipped_in_row = 0;
    if (++good_steps < config.growth_interval) return;
    good_steps = 0;
    scale = 2 * scale < largest ? 2 * scale : largest;
  }
};

class LossScale {
 public:
  // on: the run computes in fp16. Otherwise the scale is 1 and stays so.
  LossScale(const LossScaleConfig& config, bool on);

  bool on() const { return on_; }
  double value() const { return state_.scale; }
  const LossScaleState& state() const { return state_; }
  const LossScaleConfig& config() const { return config_; }
  void restore(const LossScaleState& state);  // nothing unless on()

  // As the state's; nothing unless on(). Throws Error(diverged) after max_skips skips in a row.
  void record(bool overflowed);

 private:
  LossScaleConfig config_;
  bool on_;
  LossScaleState state_;
};

}  // namespace spire::inline optim
