// The loss scale of fp16 in a GPU's memory, where a step's kernels read it without the host. All
// devices compute the same scale, each its own.
#pragma once
#include <memory>
#include <span>

#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "engine/optim/loss_scale.h"

namespace spire::inline update {

// Launches one block on the stream that records a step in `state`, in the device's memory: squares
// are those of the reduced gradient's chunks, in memory that the device reaches.
void follow_cuda_loss_scale(std::span<const double> squares, const LossScaleConfig& config,
                            LossScaleState* state, Stream& stream);

class DeviceLossScale {
 public:
  static constexpr size_t bytes = sizeof(LossScaleState);

  // Throws what the pool throws.
  DeviceLossScale(MemoryPool& memory, const LossScaleConfig& config, const LossScaleState& state)
      : memory_(memory.allocate(MemoryKind::optimizer, bytes)), config_(config) {
    set(state);
  }

  const LossScaleState* state() const { return memory_->as<LossScaleState>(); }  // on the device

  // Overwrites it, after all work that the device was given.
  void set(const LossScaleState& state) { memory_->write(&state, sizeof state); }

  // Lets the next step's scale follow from this step's squares. All readers are on that stream.
  void follow(std::span<const double> squares, Stream& stream) {
    follow_cuda_loss_scale(squares, config_, memory_->as<LossScaleState>(), stream);
  }

 private:
  std::unique_ptr<DeviceMemory> memory_;
  LossScaleConfig config_;
};

}  // namespace spire::inline update
