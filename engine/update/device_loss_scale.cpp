#include "engine/update/device_loss_scale.h"

namespace spire::inline update {

DeviceLossScale::DeviceLossScale(MemoryPool& memory, const LossScaleConfig& config,
                                 const LossScaleState& state)
    : memory_(memory.allocate(MemoryKind::optimizer, bytes)), config_(config) {
  set(state);
}

void DeviceLossScale::set(const LossScaleState& state) {
  memory_->write(&state, sizeof state);
}

void DeviceLossScale::follow(std::span<const double> squares, Stream& stream) {
  follow_cuda_loss_scale(squares, config_, memory_->as<LossScaleState>(), stream);
}

}  // namespace spire::inline update
