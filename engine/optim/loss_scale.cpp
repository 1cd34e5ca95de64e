#include <spire/optim/loss_scale.h>

#include <algorithm>

#include <spire/base/error.h>

namespace spire {
namespace {

constexpr double largest = 0x1p40;  // far above what gradients of fp16 can take

}  // namespace

LossScale::LossScale(const LossScaleConfig& config, bool on) : config_(config), on_(on) {
  if (on) state_.scale = config.initial;
}

void LossScale::restore(const LossScaleState& state) {
  if (on_) state_ = state;
}

void LossScale::record(bool overflowed) {
  if (!on_) return;
  if (!overflowed) {
    state_.skipped_in_row = 0;
    if (++state_.good_steps < config_.growth_interval) return;
    state_.good_steps = 0;
    state_.scale = std::min(largest, 2 * state_.scale);
    return;
  }
  ++state_.skipped;
  ++state_.skipped_in_row;
  state_.good_steps = 0;
  state_.scale = std::max(config_.minimum, state_.scale / 2);
  if (state_.skipped_in_row < config_.max_skips) return;
  fail(
      Category::diverged,
      "the gradients overflowed fp16 in {} steps in a row, the last time at loss scale {:g}; lower "
      "optimizer.lr, lengthen schedule.warmup_epochs, or use precision: bf16",
      state_.skipped_in_row, state_.scale);
}

}  // namespace spire
