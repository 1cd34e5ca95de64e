// The loss scale of fp16 in a GPU's memory, so that a step's kernels read it without the host: it
// follows from the gradients of the step before. All devices compute the same scale, each its own.
#pragma once
#include <memory>
#include <span>

#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "engine/optim/loss_scale.h"

namespace spire::inline update {

class DeviceLossScale {
 public:
  static constexpr size_t bytes = sizeof(LossScaleState);

  // Throws what the pool throws.
  DeviceLossScale(MemoryPool& memory, const LossScaleConfig& config, const LossScaleState& state);

  // Address in the device's memory.
  const LossScaleState* state() const { return memory_->as<LossScaleState>(); }

  // Overwrites it, after all work that the device was given.
  void set(const LossScaleState& state);

  // Updates the scale from the squares of the reduced gradient's chunks, in memory that the device
  // reaches, behind the stream's work. All readers of the state are on that stream.
  void follow(std::span<const double> squares, Stream& stream);

 private:
  std::unique_ptr<DeviceMemory> memory_;
  LossScaleConfig config_;
};

// Launches the update of the state: one block on the stream.
void follow_cuda_loss_scale(std::span<const double> squares, const LossScaleConfig& config,
                            LossScaleState* state, Stream& stream);

}  // namespace spire::inline update
