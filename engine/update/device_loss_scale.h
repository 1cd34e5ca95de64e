// The fp16 loss scale in a GPU's memory, where the kernels of a step read it without the host. Each
// device computes its own copy; all compute the same value.
#pragma once
#include <memory>
#include <span>

#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "engine/update/loss_scale.h"

namespace spire {

// Launches one block on the stream that records a step in `state` (device memory). squares: one sum
// of squares per chunk of the reduced gradient, in memory that the device can access.
void follow_cuda_loss_scale(std::span<const double> squares, const LossScaleConfig& config,
                            LossScaleState* state, Stream& stream);

class DeviceLossScale {
 public:
  static constexpr size_t bytes = sizeof(LossScaleState);

  // Throws what MemoryPool::allocate() throws.
  DeviceLossScale(MemoryPool& memory, const LossScaleConfig& config, const LossScaleState& state)
      : memory_(memory.allocate(MemoryKind::optimizer, bytes)), config_(config) {
    set(state);
  }

  const LossScaleState* state() const { return memory_->as<LossScaleState>(); }  // device memory

  // Overwrites the state after all work that the device was given.
  void set(const LossScaleState& state) { memory_->write(&state, sizeof state); }

  // Adjusts the scale for the next step. All kernels that read it must run on the same stream.
  void follow(std::span<const double> squares, Stream& stream) {
    follow_cuda_loss_scale(squares, config_, memory_->as<LossScaleState>(), stream);
  }

 private:
  std::unique_ptr<DeviceMemory> memory_;
  LossScaleConfig config_;
};

}  // namespace spire
