// How fp16's loss scale changes from step to step, for the host and for GPUs (loss_scale.h).
#pragma once
#include <cstdint>

#include <spire/tensor.h>

namespace spire {

struct LossScaleState {
  static constexpr double largest = 0x1p40;  // far above any at which fp16 gradients stay finite

  double scale = 1;
  int64_t good_steps = 0;  // steps without overflow since the scale changed
  int64_t skipped = 0, skipped_in_row = 0;

  // Counts a step and adjusts the scale. overflowed: gradients were not finite, the step skipped.
  // minimum, growth_interval: those of LossScaleConfig.
  SPIRE_HOST_DEVICE void record(bool overflowed, double minimum, int64_t growth_interval) {
    if (overflowed) {
      ++skipped;
      ++skipped_in_row;
      good_steps = 0;
      scale = scale / 2 > minimum ? scale / 2 : minimum;
      return;
    }
    skipped_in_row = 0;
    if (++good_steps < growth_interval) return;
    good_steps = 0;
    scale = 2 * scale < largest ? 2 * scale : largest;
  }
};

}  // namespace spire
